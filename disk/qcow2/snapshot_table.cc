#include "disk/qcow2/snapshot_table.h"

#include <algorithm>
#include <cstring>
#include <string_view>

#include "base/arith.h"

namespace skiff::qcow2 {
namespace {

constexpr size_t kAlignment = 8;  // of entries in the table
constexpr uint64_t kNoIcount = ~uint64_t{0};

// qcow2, "Snapshot table entry", "Optional extra data"; QEMU writes these three.
struct ExtraData {
  Be64 vm_state_size;
  Be64 disk_size;
  Be64 icount;
};

// Reads a stretch of the file front to back by pieces; it ends at the file's end.
class Reader {
 public:
  Reader(File& file, FileOffset at) : file_(file), start_(at), at_(at) {}

  uint64_t taken() const { return at_.value() - start_.value(); }

  // The next `length` bytes. kCorrupt past the end.
  Result<std::vector<std::byte>> Take(size_t length) {
    const uint64_t end = file_.size();
    if (length > end || at_.value() > end - length)
      return Corrupt("it goes past the end of the file");
    if (taken() + length > kMaxSnapshotTableBytes) return Corrupt("the table is too large");
    if (length > piece_.size() - used_) TRY(Refill(length));
    const auto first = piece_.begin() + static_cast<ptrdiff_t>(used_);
    std::vector<std::byte> bytes(first, first + static_cast<ptrdiff_t>(length));
    used_ += length;
    at_ = at_ + length;
    return bytes;
  }

  Result<std::string> TakeText(size_t length) {
    const std::vector<std::byte> bytes = TRY(Take(length));
    return std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  }

 private:
  Result<void> Refill(size_t length) {
    constexpr uint64_t kPiece = 64 * kKiB;
    piece_.resize(std::min(file_.size() - at_.value(), std::max<uint64_t>(length, kPiece)));
    used_ = 0;
    return ReadBytes(file_, at_, piece_);
  }

  File& file_;
  const FileOffset start_;
  FileOffset at_;
  std::vector<std::byte> piece_;
  size_t used_ = 0;
};

void FillExtra(const std::vector<std::byte>& bytes, Snapshot& snapshot) {
  ExtraData extra{snapshot.vm_state_size, snapshot.disk_size, kNoIcount};
  const size_t known = std::min(bytes.size(), sizeof(extra));
  if (known != 0) std::memcpy(static_cast<void*>(&extra), bytes.data(), known);
  if (known >= offsetof(ExtraData, disk_size)) snapshot.vm_state_size = extra.vm_state_size;
  if (known >= offsetof(ExtraData, icount)) snapshot.disk_size = extra.disk_size;
  if (known == sizeof(extra) && extra.icount != kNoIcount) snapshot.icount = extra.icount;
  snapshot.unknown_extra.assign(bytes.begin() + static_cast<ptrdiff_t>(known), bytes.end());
}

Result<void> CheckL1(const Snapshot& snapshot, const Header& header) {
  const uint64_t bytes = uint64_t{snapshot.l1_size} * sizeof(Be64);
  if (bytes > kMaxL1Bytes) return Corrupt("its L1 table is too large");
  if (bytes == 0) return {};
  if (!header.geometry.IsAligned(snapshot.l1_table_offset) || snapshot.l1_table_offset.value() == 0)
    return Corrupt("its L1 table's offset is invalid");
  return {};
}

Result<Snapshot> ReadOne(Reader& reader, const Header& header) {
  const std::vector<std::byte> bytes = TRY(reader.Take(sizeof(SnapshotHeader)));
  SnapshotHeader fixed;
  std::memcpy(static_cast<void*>(&fixed), bytes.data(), sizeof(fixed));
  if (fixed.extra_data_size > kMaxSnapshotExtraBytes)
    return Corrupt("it has too much extra data (" + std::to_string(fixed.extra_data_size) +
                   " bytes)");
  Snapshot snapshot;
  snapshot.l1_table_offset = FileOffset(fixed.l1_table_offset);
  snapshot.l1_size = fixed.l1_size;
  snapshot.date_sec = fixed.date_sec;
  snapshot.date_nsec = fixed.date_nsec;
  snapshot.vm_clock_nsec = fixed.vm_clock_nsec;
  snapshot.vm_state_size = fixed.vm_state_size;
  snapshot.disk_size = header.size;
  const std::vector<std::byte> extra = TRY(reader.Take(fixed.extra_data_size));
  FillExtra(extra, snapshot);
  snapshot.id = TRY(reader.TakeText(fixed.id_str_size));
  snapshot.name = TRY(reader.TakeText(fixed.name_size));
  TRY(CheckL1(snapshot, header));
  return snapshot;
}

template <typename T>
void Append(std::vector<std::byte>& out, const T& value) {
  const auto bytes = std::as_bytes(std::span(&value, 1));
  out.insert(out.end(), bytes.begin(), bytes.end());
}

void AppendText(std::vector<std::byte>& out, const std::string& text) {
  const auto bytes = std::as_bytes(std::span(text));
  out.insert(out.end(), bytes.begin(), bytes.end());
}

void AppendOne(std::vector<std::byte>& out, const Snapshot& snapshot) {
  SnapshotHeader fixed;
  fixed.l1_table_offset = snapshot.l1_table_offset.value();
  fixed.l1_size = snapshot.l1_size;
  fixed.id_str_size = static_cast<uint16_t>(snapshot.id.size());
  fixed.name_size = static_cast<uint16_t>(snapshot.name.size());
  fixed.date_sec = snapshot.date_sec;
  fixed.date_nsec = snapshot.date_nsec;
  fixed.vm_clock_nsec = snapshot.vm_clock_nsec;
  // Too large for this field: the extra data has it.
  const bool large = snapshot.vm_state_size > UINT32_MAX;
  fixed.vm_state_size = large ? 0 : static_cast<uint32_t>(snapshot.vm_state_size);
  fixed.extra_data_size = static_cast<uint32_t>(sizeof(ExtraData) + snapshot.unknown_extra.size());
  Append(out, fixed);
  Append(out, ExtraData{snapshot.vm_state_size, snapshot.disk_size,
                        snapshot.icount.value_or(kNoIcount)});
  out.insert(out.end(), snapshot.unknown_extra.begin(), snapshot.unknown_extra.end());
  AppendText(out, snapshot.id);
  AppendText(out, snapshot.name);
  out.resize(AlignUp(out.size(), kAlignment));
}

}  // namespace

Result<SnapshotTable> ReadSnapshots(File& file, const Header& header) {
  SnapshotTable table;
  Reader reader(file, header.snapshots_offset);
  for (uint32_t n = 0; n < header.nb_snapshots; ++n) {
    Result<Snapshot> one = ReadOne(reader, header);
    if (!one.ok()) return std::move(one).error().While("snapshot " + std::to_string(n));
    table.snapshots.push_back(std::move(one).value());
    const uint64_t padding = AlignUp(reader.taken(), kAlignment) - reader.taken();
    // The last one's padding may be missing.
    if (n + 1 < header.nb_snapshots) TRY(reader.Take(padding));
  }
  table.bytes = reader.taken();
  return table;
}

Result<std::vector<std::byte>> EncodeSnapshots(const std::vector<Snapshot>& snapshots) {
  if (snapshots.size() > kMaxSnapshots)
    return OutOfRange("an image has at most " + std::to_string(kMaxSnapshots) + " snapshots");
  std::vector<std::byte> bytes;
  for (const Snapshot& snapshot : snapshots) {
    if (snapshot.id.size() > UINT16_MAX || snapshot.name.size() > UINT16_MAX)
      return OutOfRange("a snapshot's name has at most 65535 bytes");
    AppendOne(bytes, snapshot);
  }
  if (bytes.size() > kMaxSnapshotTableBytes) return OutOfRange("the snapshot table is too large");
  return bytes;
}

Result<void> CheckCovers(const Snapshot& snapshot, const Geometry& geometry) {
  if (DivideRoundingUp(snapshot.disk_size, geometry.bytes_per_l2()) > snapshot.l1_size)
    return Corrupt("the snapshot's L1 table is too small for its disk");
  return {};
}

const Snapshot* FindSnapshot(const std::vector<Snapshot>& snapshots, std::string_view id_or_name) {
  for (const Snapshot& one : snapshots)
    if (one.id == id_or_name) return &one;
  for (const Snapshot& one : snapshots)
    if (one.name == id_or_name) return &one;
  return nullptr;
}

}  // namespace skiff::qcow2
