#include "disk/qcow2/check/reference_walk.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "base/arith.h"

namespace skiff::qcow2 {
namespace {

uint64_t Be64At(std::span<const std::byte> bytes, size_t at) {
  Be64 value;
  std::memcpy(&value, bytes.data() + at, sizeof(value));
  return value;
}

}  // namespace

ReferenceWalk::ReferenceWalk(File& file, const Header& header, Repair repair, Findings& findings,
                             ReferenceCounts& counts)
    : file_(file),
      header_(header),
      geometry_(header.geometry),
      file_size_(file.size()),
      external_data_(header.Has(kIncompatExternalData)),
      repair_(repair),
      findings_(findings),
      counts_(counts) {}

Result<void> ReferenceWalk::VisitTables() {
  const SnapshotTable snapshots = TRY(ReadSnapshots(file_, header_));
  const BitmapDirectory bitmaps = TRY(ReadBitmapDirectory(file_, header_));
  TRY(CheckTotal(snapshots, bitmaps));
  Refer(0, geometry_.cluster_size());
  const uint64_t l1_bytes = uint64_t{header_.l1_size} * sizeof(Be64);
  Refer(header_.l1_table_offset.value(), l1_bytes);
  VisitL1(header_.l1_table_offset, header_.l1_size, /*active=*/true);
  VisitSnapshots(snapshots);
  VisitBitmaps(bitmaps);
  CombineUses();
  l2_.resize(geometry_.cluster_size());
  for (const TableUse& use : tables_) VisitL2(use);
  return {};
}

// Each table has its own place in the file. Where many claim the same, a small file could keep us
// busy for hours.
Result<void> ReferenceWalk::CheckTotal(const SnapshotTable& snapshots,
                                       const BitmapDirectory& bitmaps) const {
  constexpr uint64_t kAlways = 64 * kMiB;
  uint64_t bytes = uint64_t{header_.l1_size} * sizeof(Be64);
  for (const Snapshot& one : snapshots.snapshots) bytes += uint64_t{one.l1_size} * sizeof(Be64);
  for (const BitmapTable& one : bitmaps.bitmaps) bytes += uint64_t{one.entries} * sizeof(Be64);
  if (bytes <= kAlways || bytes / 8 <= file_size_) return {};
  return Corrupt("its snapshots and bitmaps have more tables than the file has room for");
}

bool ReferenceWalk::Refer(uint64_t at, uint64_t length, uint64_t times) {
  if (length == 0) return true;
  const std::optional<uint64_t> end = CheckedAdd(at, length);
  // The last cluster may be there in part.
  if (!end || (*end > file_size_ && *end - file_size_ >= geometry_.cluster_size())) {
    findings_.Corrupt(fmt::format("ERROR: counting reference for region exceeding the end of the "
                                  "file by one cluster or more: offset {:#x} size {:#x}",
                                  at, length),
                      times);
    flags_in_doubt_ = true;
    return false;
  }
  const uint64_t last = (*end - 1) >> geometry_.cluster_bits();
  for (uint64_t cluster = at >> geometry_.cluster_bits(); cluster <= last; ++cluster)
    AddReference(cluster, times);
  return true;
}

void ReferenceWalk::AddReference(uint64_t cluster, uint64_t times) {
  const uint64_t beyond = counts_.Add(cluster, times);
  if (beyond != 0)
    findings_.Corrupt(
        fmt::format("ERROR: overflow cluster offset={:#x}", cluster << geometry_.cluster_bits()),
        beyond);
}

void ReferenceWalk::Unreadable(std::string_view what, const Error& error) {
  ++findings_.report.check_errors;
  findings_.say(fmt::format("ERROR: {}: {}", what, error.message()));
}

// Takes note of the L2 tables; they are visited in the order of their places, each once.
void ReferenceWalk::VisitL1(FileOffset at, uint64_t entries, bool active) {
  constexpr uint64_t kPiece = 8192;  // entries
  std::vector<Be64> raw;
  // Behind the file's end there are zeroes only.
  entries = std::min(entries, (file_size_ - std::min(file_size_, at.value())) / sizeof(Be64));
  for (uint64_t done = 0; done < entries; done += raw.size()) {
    raw.resize(std::min(kPiece, entries - done));
    Result<void> read =
        ReadBytes(file_, at + done * sizeof(Be64), std::as_writable_bytes(std::span(raw)));
    if (!read.ok()) return Unreadable("reading an L1 table", read.error());
    for (const uint64_t entry : raw) {
      if (entry == 0) continue;
      if ((entry & kL1Reserved) != 0)
        findings_.Corrupt(fmt::format("ERROR found L1 entry with reserved bits set: {:x}", entry));
      const uint64_t table = entry & kOffsetMask;
      const bool there = Refer(table, geometry_.cluster_size());
      if (!geometry_.IsAligned(FileOffset(table))) {
        findings_.Corrupt(fmt::format(
            "ERROR l2_offset={:x}: Table is not cluster aligned; L1 entry corrupted", table));
      }
      if (active && (entry & kCopied) == 0) flags_in_doubt_ = true;
      if (there) tables_.push_back({FileOffset(table), active ? 1u : 0u, 1});
    }
    if (tables_.size() > 2 * most_uses_) CombineUses();
  }
}

void ReferenceWalk::CombineUses() {
  std::sort(tables_.begin(), tables_.end(),
            [](const TableUse& a, const TableUse& b) { return a.table < b.table; });
  size_t kept = 0;
  for (const TableUse& use : tables_) {
    if (kept != 0 && tables_[kept - 1].table == use.table) {
      tables_[kept - 1].active += use.active;
      tables_[kept - 1].all += use.all;
    } else {
      tables_[kept++] = use;
    }
  }
  tables_.resize(kept);
  most_uses_ = std::max<size_t>(most_uses_, kept);
}

void ReferenceWalk::VisitSnapshots(const SnapshotTable& table) {
  for (const Snapshot& snapshot : table.snapshots) {
    Refer(snapshot.l1_table_offset.value(), uint64_t{snapshot.l1_size} * sizeof(Be64));
    VisitL1(snapshot.l1_table_offset, snapshot.l1_size, /*active=*/false);
  }
  Refer(header_.snapshots_offset.value(), table.bytes);
}

void ReferenceWalk::VisitBitmaps(const BitmapDirectory& directory) {
  Refer(directory.offset.value(), directory.bytes);
  for (const BitmapTable& table : directory.bitmaps) VisitBitmapTable(table);
}

void ReferenceWalk::VisitBitmapTable(const BitmapTable& table) {
  constexpr uint64_t kPiece = 8192;  // entries
  if (!Refer(table.offset.value(), uint64_t{table.entries} * sizeof(Be64))) return;
  std::vector<Be64> raw;
  for (uint64_t done = 0; done < table.entries; done += raw.size()) {
    raw.resize(std::min(kPiece, table.entries - done));
    Result<void> read = ReadBytes(file_, table.offset + done * sizeof(Be64),
                                  std::as_writable_bytes(std::span(raw)));
    if (!read.ok()) return Unreadable("reading a bitmap table", read.error());
    for (const uint64_t entry : raw) {
      const uint64_t cluster = entry & kOffsetMask;
      if ((entry & kBitmapReserved) != 0 || (cluster != 0 && (entry & 1) != 0) ||
          !geometry_.IsAligned(FileOffset(cluster))) {
        findings_.Corrupt(fmt::format("ERROR bitmap table entry is invalid: {:x}", entry));
      } else if (cluster != 0) {
        Refer(cluster, geometry_.cluster_size());
      }
    }
  }
}

void ReferenceWalk::VisitL2(const TableUse& use) {
  Result<void> read = ReadBytes(file_, use.table, l2_);
  if (!read.ok()) return Unreadable("I/O error in check_refcounts_l2", read.error());
  const size_t step = geometry_.l2_entry_size();
  contiguous_ = 0;
  for (uint64_t n = 0; n < geometry_.l2_entries(); ++n) {
    const uint64_t bits = Be64At(l2_, n * step);
    if (bits == 0 && !geometry_.extended_l2()) continue;
    if (VisitPlain(use, bits)) continue;
    const uint64_t bitmap = geometry_.extended_l2() ? Be64At(l2_, n * step + 8) : 0;
    if ((bits | bitmap) != 0) VisitEntry(use, n, bits, bitmap);
  }
}

// What nearly all entries are: a COPIED cluster of the file. False: look closer.
bool ReferenceWalk::VisitPlain(const TableUse& use, uint64_t bits) {
  const uint64_t host = bits & kOffsetMask;
  const bool plain = bits == (host | kCopied) && geometry_.IsAligned(FileOffset(host));
  if (!plain || host == 0 || host >= file_size_ || geometry_.extended_l2() || external_data_)
    return false;
  AddReference(host >> geometry_.cluster_bits(), use.all);
  findings_.report.allocated_clusters += use.active;
  if (contiguous_ != 0 && host != contiguous_) findings_.report.fragmented_clusters += use.active;
  contiguous_ = host + geometry_.cluster_size();
  return true;
}

void ReferenceWalk::VisitEntry(const TableUse& use, uint64_t index, uint64_t bits,
                               uint64_t bitmap) {
  if ((bits & kCompressed) != 0) return VisitCompressed(use, bits, bitmap);
  if ((bits & kL2Reserved) != 0)
    findings_.Corrupt(fmt::format("ERROR found l2 entry with reserved bits set: {:x}", bits),
                      use.all);
  if ((bits & kOffsetMask) != 0) return VisitHost(use, index, bits, bitmap);
  // An external data file may have data at its start.
  if (external_data_ && (bits & kCopied) != 0) return VisitHost(use, index, bits, bitmap);
  if ((bitmap & UINT32_MAX) != 0)
    findings_.Corrupt("ERROR: Unallocated cluster has non-zero subcluster allocation map", use.all);
}

void ReferenceWalk::VisitHost(const TableUse& use, uint64_t index, uint64_t bits, uint64_t bitmap) {
  const uint64_t host = bits & kOffsetMask;
  if ((bitmap >> 32 & bitmap) != 0) {
    findings_.Corrupt(fmt::format("ERROR offset={:x}: Allocated cluster with corrupted subcluster "
                                  "allocation bitmap",
                                  host),
                      use.all);
    if (repair_ == Repair::kAll && MakeZero(use, index)) return;
  }
  if (!geometry_.IsAligned(FileOffset(host))) {
    const bool has_data =
        geometry_.extended_l2() ? (bitmap & UINT32_MAX) != 0 : (bits & kAllZeroes) == 0;
    const bool repairs = !has_data && repair_ == Repair::kAll;
    findings_.Corrupt(
        fmt::format("{} offset={:x}: {} cluster is not properly aligned; L2 entry corrupted.",
                    repairs ? "Repairing" : "ERROR", host, has_data ? "Data" : "Preallocated"),
        use.all);
    if (repairs && MakeZero(use, index)) return;
  }
  CheckReport& report = findings_.report;
  report.allocated_clusters += use.active;
  if (contiguous_ != 0 && host != contiguous_) report.fragmented_clusters += use.active;
  contiguous_ = host + geometry_.cluster_size();
  if (use.active != 0 && (bits & kCopied) == 0) flags_in_doubt_ = true;
  if (!external_data_) Refer(host, geometry_.cluster_size(), use.all);
}

void ReferenceWalk::VisitCompressed(const TableUse& use, uint64_t bits, uint64_t bitmap) {
  const uint64_t offset_mask = (uint64_t{1} << geometry_.compressed_offset_bits()) - 1;
  const uint64_t offset = bits & offset_mask;
  if ((bits & kCopied) != 0)
    findings_.Corrupt(fmt::format("ERROR: coffset={:#x}: copied flag must never be set for "
                                  "compressed clusters",
                                  offset),
                      use.all);
  if (external_data_)
    return findings_.Corrupt(
        fmt::format("ERROR compressed cluster with data file, entry={:#x}", bits), use.all);
  if (bitmap != 0)
    return findings_.Corrupt(fmt::format("ERROR compressed cluster with non-zero subcluster "
                                         "allocation bitmap, entry={:#x}",
                                         bits),
                             use.all);
  const uint64_t sectors =
      ((bits & ~(kCopied | kCompressed)) >> geometry_.compressed_offset_bits()) + 1;
  Refer(offset, sectors * 512 - (offset & 511), use.all);
  CheckReport& report = findings_.report;
  report.allocated_clusters += use.active;
  report.compressed_clusters += use.active;
  report.fragmented_clusters += use.active;
}

// The entry as one that reads as zeroes and has no cluster. False: it could not be written.
bool ReferenceWalk::MakeZero(const TableUse& use, uint64_t index) {
  const bool extended = geometry_.extended_l2();
  const Be64 entry[2] = {extended ? 0 : kAllZeroes, uint64_t{UINT32_MAX} << 32};
  const auto bytes = std::as_bytes(std::span(entry)).first(geometry_.l2_entry_size());
  Result<void> written = WriteBytes(file_, use.table + index * geometry_.l2_entry_size(), bytes);
  if (!written.ok()) {
    Unreadable("writing an L2 entry", written.error());
    return false;
  }
  findings_.report.corruptions -= use.all;
  findings_.report.corruptions_fixed += use.all;
  return true;
}

void ReferenceWalk::VisitCounts(const StoredCounts& stored) {
  Refer(header_.refcount_table_offset.value(),
        uint64_t{header_.refcount_table_clusters} << geometry_.cluster_bits());
  for (uint64_t index = 0; index < stored.table().size(); ++index) {
    const uint64_t entry = stored.table()[index];
    if (entry == 0) continue;
    const uint64_t block = entry & kRefcountBlockOffsetMask;
    const auto wrong = [&](const std::string& line) {
      findings_.must_rebuild = true;
      findings_.Corrupt(line);
    };
    if (entry != block) {
      wrong(fmt::format("ERROR refcount table entry {} has reserved bits set", index));
    } else if (!geometry_.IsAligned(FileOffset(block))) {
      wrong(
          fmt::format("ERROR refcount block {} is not cluster aligned; refcount table entry "
                      "corrupted",
                      index));
    } else if (block >= file_size_) {
      wrong(fmt::format("ERROR refcount block {} is outside image", index));
    } else {
      Refer(block, geometry_.cluster_size());
      const uint64_t count = counts_.At(block >> geometry_.cluster_bits());
      if (count != 1) wrong(fmt::format("ERROR refcount block {} refcount={}", index, count));
    }
  }
}

}  // namespace skiff::qcow2
