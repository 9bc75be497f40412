#include "disk/qcow2/refcounts.h"

#include <algorithm>
#include <optional>

#include "disk/qcow2/refcount_block.h"

namespace skiff::qcow2 {
namespace {

// A cluster's count: which slice of which block, and where in it.
struct Place {
  FileOffset slice;
  uint64_t index;  // of the counter in the slice
};

uint64_t CountsPerSlice(const Core& core) REQUIRES(core.mutex) {
  return uint64_t{core.refcount_slices.slice_size()} * 8 / core.geometry.refcount_bits();
}

// nullopt: no refcount block.
Result<std::optional<Place>> PlaceOf(Core& core, uint64_t cluster) REQUIRES(core.mutex) {
  const uint64_t per_block = core.geometry.refcounts_per_block();
  const uint64_t table_index = cluster / per_block;
  if (table_index >= core.refcount_table.size()) return std::optional<Place>();
  const FileOffset block(core.refcount_table[table_index] & kRefcountBlockOffsetMask);
  if (block.value() == 0) return std::optional<Place>();
  if (!core.geometry.IsAligned(block))
    return MarkCorrupt(core, "a refcount table entry that is no cluster's offset");
  const uint64_t in_block = cluster % per_block;
  const uint64_t per_slice = CountsPerSlice(core);
  const uint64_t skipped = in_block / per_slice * core.refcount_slices.slice_size();
  return std::optional(Place{block + skipped, in_block % per_slice});
}

// As PlaceOf(), and the slice: it is valid until the mutex is given up.
struct Counter {
  Slice* slice = nullptr;  // null: no refcount block
  uint64_t index = 0;
};

Result<Counter> FindCounter(Core& core, uint64_t cluster) REQUIRES(core.mutex) {
  for (;;) {
    const std::optional<Place> place = TRY(PlaceOf(core, cluster));
    if (!place) return Counter();
    Slice* const slice = TRY(FindOrFetch(core, core.refcount_slices, place->slice));
    if (slice != nullptr) return Counter{slice, place->index};
  }
}

uint64_t CountAt(const Core& core, const Counter& counter) {
  return RefcountAt(counter.slice->bytes(), core.geometry.refcount_order(), counter.index);
}

// How many of the next `most` counters of the slice are not 0, up to the first that is.
uint64_t UsedFrom(const Core& core, const Counter& counter, uint64_t most) {
  const std::span<const std::byte> bytes = counter.slice->bytes();
  const uint32_t order = core.geometry.refcount_order();
  uint64_t used = 0;
  while (used < most && RefcountAt(bytes, order, counter.index + used) != 0) ++used;
  return used;
}

void SetCountAt(Core& core, const Counter& counter, uint64_t count) REQUIRES(core.mutex) {
  const uint64_t bit = counter.index << core.geometry.refcount_order();
  const size_t length = std::max<size_t>(1, core.geometry.refcount_bits() / 8);
  SetRefcountAt(core.refcount_slices.Modify(*counter.slice, bit / 8, length, /*barrier=*/0),
                core.geometry.refcount_order(), counter.index, count);
}

Result<void> SetOne(Core& core, uint64_t cluster, uint64_t count) REQUIRES(core.mutex) {
  const Counter counter = TRY(FindCounter(core, cluster));
  if (counter.slice == nullptr) return Corrupt("a cluster in use has no refcount block");
  SetCountAt(core, counter, count);
  return {};
}

// How many clusters from run.first on have the count that it has.
struct SameCount {
  uint64_t count;
  uint64_t clusters;
};
Result<SameCount> CountsFrom(Core& core, ClusterRun run) REQUIRES(core.mutex) {
  SameCount same{TRY(RefcountOf(core, run.first)), 1};
  while (same.clusters < run.count &&
         TRY(RefcountOf(core, run.first + same.clusters)) == same.count)
    ++same.clusters;
  return same;
}

// What a guest discarded takes no room any more. That a host cannot do it is no error.
void Punch(Core& core, ClusterRun run) REQUIRES(core.mutex) {
  const FileRange range = core.RangeOf(run);
  (void)WithoutLock(core, [&] { return core.file->Discard(range); }).ok();
}

}  // namespace

Result<uint64_t> RefcountOf(Core& core, uint64_t cluster) {
  const Counter counter = TRY(FindCounter(core, cluster));
  return counter.slice == nullptr ? 0 : CountAt(core, counter);
}

Result<void> SetRefcounts(Core& core, ClusterRun run, uint64_t count) {
  for (uint64_t cluster = run.first; cluster < run.end(); ++cluster)
    TRY(SetOne(core, cluster, count));
  if (count == 0) core.first_free = std::min(core.first_free, run.first);
  return {};
}

Result<void> LowerRefcounts(Core& core, ClusterRun run) {
  while (run.count != 0) {
    const SameCount same = TRY(CountsFrom(core, run));
    const ClusterRun part{run.first, same.clusters};
    if (same.count == 1) Punch(core, part);
    if (same.count != 0) TRY(SetRefcounts(core, part, same.count - 1));
    run = {part.end(), run.count - part.count};
  }
  return {};
}

Result<uint64_t> ClaimFree(Core& core, uint64_t from, uint64_t end, uint64_t most,
                           std::vector<ClusterRun>& runs) {
  uint64_t cluster = from;
  while (cluster < end && most != 0) {
    Counter counter = TRY(FindCounter(core, cluster));
    if (counter.slice == nullptr) break;
    const uint64_t in_slice = std::min(CountsPerSlice(core) - counter.index, end - cluster);
    const uint64_t used = UsedFrom(core, counter, in_slice);
    cluster += used;
    counter.index += used;
    for (uint64_t n = used; n < in_slice && most != 0 && CountAt(core, counter) == 0; ++n) {
      SetCountAt(core, counter, 1);
      if (runs.empty() || runs.back().end() != cluster) runs.push_back({cluster, 0});
      ++runs.back().count;
      ++cluster;
      ++counter.index;
      --most;
    }
  }
  return cluster;
}

}  // namespace skiff::qcow2
