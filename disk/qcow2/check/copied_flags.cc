#include "disk/qcow2/check/copied_flags.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

namespace skiff::qcow2 {
namespace {

class Flags {
 public:
  Flags(File& file, const Header& header, const ReferenceCounts& counts, StoredCounts& stored,
        const Comparison& comparison, bool repair, Findings& findings)
      : file_(file),
        geometry_(header.geometry),
        external_data_(header.Has(kIncompatExternalData)),
        clusters_(header.geometry.ClustersFor(file.size())),
        counts_(counts),
        stored_(stored),
        comparison_(comparison),
        repair_(repair),
        findings_(findings) {}

  Result<void> CheckL1(FileOffset at, uint64_t entries) {
    constexpr uint64_t kPiece = 8192;  // entries
    for (uint64_t done = 0; done < entries; done += table_.size()) {
      table_.resize(std::min(kPiece, entries - done));
      TRY(ReadBytes(file_, at + done * sizeof(Be64), Bytes()));
      bool changed = false;
      for (size_t n = 0; n < table_.size(); ++n) changed |= CheckL1Entry(done + n, table_[n]);
      if (changed) TRY(WriteBytes(file_, at + done * sizeof(Be64), Bytes()));
    }
    return {};
  }

  Result<void> CheckL2(const TableUse& use) {
    if (use.active == 0) return {};
    table_.resize(geometry_.cluster_size() / sizeof(Be64));
    TRY(ReadBytes(file_, use.table, Bytes()));
    bool changed = false;
    for (size_t n = 0; n < table_.size(); n += geometry_.l2_entry_size() / sizeof(Be64))
      changed |= CheckL2Entry(table_[n], use.active);
    if (changed) TRY(WriteBytes(file_, use.table, Bytes()));
    return {};
  }

 private:
  std::span<std::byte> Bytes() { return std::as_writable_bytes(std::span(table_)); }

  // nullopt: it can't be read, which was told already.
  std::optional<uint64_t> CountOf(uint64_t offset) {
    const uint64_t cluster = offset >> geometry_.cluster_bits();
    if (cluster >= clusters_) {
      const Result<uint64_t> count = stored_.At(cluster);
      return count.ok() ? std::optional(*count) : std::nullopt;
    }
    for (const UnknownCounts& unknown : comparison_.unknown)
      if (unknown.first <= cluster && cluster < unknown.end) return std::nullopt;
    const auto& differences = comparison_.differences;
    const auto found = std::lower_bound(
        differences.begin(), differences.end(), cluster,
        [](const Difference& one, uint64_t wanted) { return one.cluster < wanted; });
    if (found != differences.end() && found->cluster == cluster) return found->stored;
    return counts_.At(cluster);
  }

  static bool IsRight(uint64_t bits, std::optional<uint64_t> count) {
    return !count || (*count == 1) == ((bits & kCopied) != 0);
  }

  bool CheckL1Entry(uint64_t index, Be64& entry) {
    const uint64_t bits = entry;
    if ((bits & kOffsetMask) == 0) return false;
    const std::optional<uint64_t> count = CountOf(bits & kOffsetMask);
    if (IsRight(bits, count)) return false;
    return Wrong(
        entry, 1,
        fmt::format("L2 cluster: l1_index={} l1_entry={:x} refcount={}", index, bits, *count));
  }

  bool CheckL2Entry(Be64& entry, uint64_t times) {
    const uint64_t bits = entry;
    const bool has_host = (bits & kOffsetMask) != 0 || (external_data_ && (bits & kCopied) != 0);
    if ((bits & kCompressed) != 0 || !has_host) return false;
    const auto count = external_data_ ? std::optional<uint64_t>(1) : CountOf(bits & kOffsetMask);
    if (IsRight(bits, count)) return false;
    return Wrong(entry, times,
                 fmt::format("data cluster: l2_entry={:x} refcount={}", bits, *count));
  }

  bool Wrong(Be64& entry, uint64_t times, const std::string& where) {
    findings_.say((repair_ ? "Repairing OFLAG_COPIED " : "ERROR OFLAG_COPIED ") + where);
    CheckReport& report = findings_.report;
    (repair_ ? report.corruptions_fixed : report.corruptions) += times;
    if (!repair_ && (entry & kCopied) == 0) report.missing_flags += times;
    if (repair_) entry = uint64_t{entry} ^ kCopied;
    return repair_;
  }

  File& file_;
  const Geometry geometry_;
  const bool external_data_;
  const uint64_t clusters_;  // of the file
  const ReferenceCounts& counts_;
  StoredCounts& stored_;
  const Comparison& comparison_;
  const bool repair_;
  Findings& findings_;
  std::vector<Be64> table_;
};

}  // namespace

Result<void> CheckCopiedFlags(File& file, const Header& header, const ReferenceWalk& walk,
                              const ReferenceCounts& counts, StoredCounts& stored,
                              const Comparison& comparison, bool repair, Findings& findings) {
  // The usual case, known without looking again: all have the flag, and all counts are one.
  if (!walk.flags_in_doubt() && !counts.some_shared() && comparison.differences.empty()) return {};
  Flags flags(file, header, counts, stored, comparison, repair, findings);
  TRY(flags.CheckL1(header.l1_table_offset, header.l1_size));
  for (const TableUse& use : walk.tables()) TRY(flags.CheckL2(use));
  if (repair) TRY(file.Sync());
  return {};
}

}  // namespace skiff::qcow2
