#include "disk/qcow2/clear.h"

#include <algorithm>

#include "disk/qcow2/l2_tables.h"
#include "disk/qcow2/write_plan.h"

namespace skiff::qcow2 {
namespace {

// The entry of a cluster that is cleared as a whole. nullopt: version 2 cannot say it.
std::optional<Entry> Cleared(const Core& core, const Entry& old, DiskOffset cluster, Clear how) {
  const bool below = core.HasBacking(cluster.value());
  if (old.empty() && !below) return old;
  if (core.version < 3) {
    if (!below && how != Clear::kZero) return Entry();
    // What lies below would show.
    return how == Clear::kDiscard ? std::optional(old) : std::nullopt;
  }
  Entry cleared = Entry::Zeroes(core.geometry);
  if (how == Clear::kZero && old.has_host() && old.copied())
    cleared.set_host(old.host(), /*copied=*/true);
  return cleared;
}

bool SameBits(const Core& core, const Entry& a, const Entry& b) {
  return a.bits(core.geometry) == b.bits(core.geometry) && a.bitmap() == b.bitmap();
}

Result<void> ClearInSlice(Core& core, Slice& slice, DiskRange part, Clear how)
    REQUIRES(core.mutex) {
  while (!part.empty()) {
    const uint64_t index = core.geometry.L2Index(part.start());
    const Result<Entry> old = EntryAt(core, slice, index);
    if (!old.ok()) return MarkCorrupt(core, old.error().message());
    const std::optional<Entry> cleared = Cleared(core, *old, part.start(), how);
    if (!cleared) return Unsupported("zeroes must be written in a version 2 image");
    if (!SameBits(core, *old, *cleared)) {
      SetEntry(core, slice, index, *cleared, /*barrier=*/0);
      FreeReplaced(core, *old, *cleared);
    }
    part = part.Suffix(core.geometry.cluster_size());
  }
  return {};
}

// A stretch without an L2 table where nothing is below reads as zeroes already: its length, or 0.
uint64_t NothingToClear(const Core& core, DiskRange range) REQUIRES(core.mutex) {
  const uint64_t l1_index = core.geometry.L1Index(range.start());
  if (l1_index < core.l1.size() && core.l1[l1_index] != 0) return 0;
  if (core.HasBacking(range.start().value())) return 0;
  const uint64_t bytes = core.geometry.bytes_per_l2();
  return std::min(range.length(), bytes - (range.start().value() & (bytes - 1)));
}

// Clears a prefix of `range` and returns its length; 0: the mutex was given up.
Result<uint64_t> ClearSome(Core& core, DiskRange range, Clear how) REQUIRES(core.mutex) {
  TRY(CheckWritable(core));
  if (const uint64_t nothing = NothingToClear(core, range); nothing != 0) return nothing;
  const DiskRange part = InOneSlice(core, range);
  const uint32_t bits = core.geometry.cluster_bits();
  const uint64_t first = part.start().value() >> bits;
  if (AwaitPending(core, first, first + core.geometry.ClustersFor(part.length())))
    return uint64_t{0};
  const std::optional<FileOffset> at = TRY(WritableL2Slice(core, part.start()));
  if (!at) return uint64_t{0};
  Slice* const slice = TRY(FindOrFetch(core, core.l2_slices, *at));
  if (slice == nullptr) return uint64_t{0};
  TRY(ClearInSlice(core, *slice, part, how));
  TRY(BoundDirty(core));
  return part.length();
}

}  // namespace

Result<void> ClearRange(Core& core, DiskRange range, Clear how) {
  MutexLock lock(core.mutex);
  if (core.version < 3 && how == Clear::kZero)
    return Unsupported("zeroes must be written in a version 2 image");
  while (!range.empty()) range = range.Suffix(TRY(ClearSome(core, range, how)));
  return {};
}

}  // namespace skiff::qcow2
