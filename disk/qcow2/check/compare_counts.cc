#include "disk/qcow2/check/compare_counts.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/endian.h"
#include "disk/qcow2/refcount_block.h"

namespace skiff::qcow2 {
namespace {

constexpr uint32_t kOrder16Bits = 4;

bool IsLeak(const Difference& one) { return one.stored > one.references; }

bool IsRepaired(const Difference& one, Repair repair) {
  if (one.stored == 0) return false;  // it may have no block; rebuilding is for that
  return IsLeak(one) ? repair != Repair::kNothing : repair == Repair::kAll;
}

class Comparer {
 public:
  Comparer(StoredCounts& stored, const ReferenceCounts& counts, const Geometry& geometry)
      : stored_(stored), counts_(counts), order_(geometry.refcount_order()) {}

  // The clusters [first, end), which have one block, or none.
  Result<void> Compare(uint64_t index, uint64_t first, uint64_t end) {
    const std::span<const std::byte> block = TRY(stored_.Block(index));
    if (block.empty()) {
      counts_.ForEach(first, end, [&](uint64_t n, uint64_t count) { Note(n, 0, count); });
    } else {
      CompareBlock(block, first, end);
    }
    return {};
  }

  Comparison Take() { return std::move(result_); }

 private:
  void CompareBlock(std::span<const std::byte> block, uint64_t first, uint64_t end) {
    uint64_t next = first;
    for (uint64_t at = first; at < end; at = next) {
      const std::span<const uint8_t> counts = counts_.Together(at, end, next);
      if (order_ == kOrder16Bits && Same16(block, at - first, counts, next - at)) {
        NoteEnd(at, counts);
        continue;
      }
      for (uint64_t n = at; n < next; ++n)
        Note(n, RefcountAt(block, order_, n - first), counts.empty() ? 0 : counts_.At(n));
    }
  }

  // The usual case, for many clusters at once. `counts` is empty: all are 0.
  static bool Same16(std::span<const std::byte> block, uint64_t index,
                     std::span<const uint8_t> counts, uint64_t length) {
    const auto* const stored = reinterpret_cast<const Be16*>(block.data()) + index;
    uint32_t different = 0;
    if (counts.empty()) {
      for (uint64_t n = 0; n < length; ++n) different |= stored[n];
    } else {
      for (uint64_t n = 0; n < length; ++n)
        different |= (uint32_t{stored[n]} ^ counts[n]) | (counts[n] == ReferenceCounts::kLarge);
    }
    return different == 0;
  }

  void NoteEnd(uint64_t first, std::span<const uint8_t> counts) {
    for (size_t n = counts.size(); n != 0; --n) {
      if (counts[n - 1] == 0) continue;
      result_.end = std::max(result_.end, first + n);
      return;
    }
  }

  void Note(uint64_t cluster, uint64_t stored, uint64_t references) {
    if ((stored | references) == 0) return;
    result_.end = cluster + 1;
    if (stored != references) result_.differences.push_back({cluster, stored, references});
  }

  StoredCounts& stored_;
  const ReferenceCounts& counts_;
  const uint32_t order_;
  Comparison result_;
};

Result<void> SetCounts(StoredCounts& stored, const std::vector<Difference>& differences, bool leaks,
                       Repair repair) {
  for (size_t n = 0; n < differences.size(); ++n) {
    const Difference& one = differences[n];
    if (IsLeak(one) != leaks || !IsRepaired(one, repair)) continue;
    TRY(stored.At(one.cluster));
    stored.Set(one.cluster, one.references);
    const uint64_t block = one.cluster / stored.per_block();
    const bool last =
        n + 1 == differences.size() || differences[n + 1].cluster / stored.per_block() != block;
    if (last) TRY(stored.Write());
  }
  return stored.Write();
}

// That a host cannot do it is no error.
void GiveBack(File& file, const Geometry& geometry, const std::vector<Difference>& differences) {
  for (const Difference& one : differences) {
    if (one.references != 0) continue;
    const auto range = FileRange::Make(FileOffset(one.cluster << geometry.cluster_bits()),
                                       geometry.cluster_size());
    if (range.ok()) (void)file.Discard(*range).ok();
  }
}

void Tell(const Difference& one, Repair repair, Findings& findings) {
  const bool repaired = IsRepaired(one, repair);
  const char* const kind = repaired ? "Repairing" : IsLeak(one) ? "Leaked" : "ERROR";
  findings.say(fmt::format("{} cluster {} refcount={} reference={}", kind, one.cluster, one.stored,
                           one.references));
  CheckReport& report = findings.report;
  if (IsLeak(one)) {
    ++(repaired ? report.leaks_fixed : report.leaks);
  } else {
    ++(repaired ? report.corruptions_fixed : report.corruptions);
  }
}

}  // namespace

Comparison CompareCounts(File& file, StoredCounts& stored, const ReferenceCounts& counts,
                         const Geometry& geometry, Findings& findings) {
  const uint64_t clusters = geometry.ClustersFor(file.size());
  const uint64_t per_block = stored.per_block();
  // Behind both there are only zeroes.
  const uint64_t end = std::min(
      clusters, std::max(counts.End(), static_cast<uint64_t>(stored.table().size()) * per_block));
  Comparer comparer(stored, counts, geometry);
  std::vector<UnknownCounts> unknown;
  for (uint64_t first = 0; first < end; first += per_block) {
    const uint64_t index = first / per_block;
    Result<void> compared = comparer.Compare(index, first, std::min(first + per_block, end));
    if (compared.ok()) continue;
    unknown.push_back({first, std::min(first + per_block, clusters)});
    findings.report.check_errors += unknown.back().end - first;
    findings.say(fmt::format("Can't get refcounts of clusters {} to {}: refcount block {}: {}",
                             first, unknown.back().end - 1, index, compared.error().message()));
  }
  Comparison result = comparer.Take();
  result.unknown = std::move(unknown);
  for (const Difference& one : result.differences) findings.must_rebuild |= one.stored == 0;
  return result;
}

Result<void> SettleCounts(File& file, StoredCounts& stored, const Geometry& geometry,
                          const std::vector<Difference>& differences, Repair repair,
                          Findings& findings) {
  for (const Difference& one : differences) Tell(one, repair, findings);
  if (repair == Repair::kNothing || differences.empty()) return {};
  TRY(SetCounts(stored, differences, /*leaks=*/false, repair));
  TRY(file.Sync());
  TRY(SetCounts(stored, differences, /*leaks=*/true, repair));
  TRY(file.Sync());
  GiveBack(file, geometry, differences);
  return {};
}

}  // namespace skiff::qcow2
