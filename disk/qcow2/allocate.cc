#include "disk/qcow2/allocate.h"

#include <algorithm>

#include "disk/qcow2/maintenance.h"
#include "disk/qcow2/open_mark.h"
#include "disk/qcow2/refcount_growth.h"
#include "disk/qcow2/refcounts.h"

namespace skiff::qcow2 {
namespace {

// Of one run that was taken, what lies on one side of never_written.
Allocation Split(Core& core, ClusterRun run) REQUIRES(core.mutex) {
  const uint64_t border = core.ClusterOf(core.never_written);
  if (run.first >= border) {
    core.never_written = core.OffsetOf(run.end());
    return {run, true};
  }
  const ClusterRun below{run.first, std::min(run.count, border - run.first)};
  core.reserve.Add({below.end(), run.count - below.count});
  return {below, false};
}

bool HoldsMetadata(const Core& core, ClusterRun run) REQUIRES(core.mutex) {
  for (uint64_t cluster = run.first; cluster < run.end(); ++cluster) {
    if (core.metadata_clusters.contains(cluster)) return true;
  }
  return false;
}

// Clusters that the file may have: all, unless its size is fixed.
uint64_t ClusterLimit(const Core& core) {
  if (core.file->facts().fixed_size) return core.file->size() >> core.geometry.cluster_bits();
  return (uint64_t{1} << 56) >> core.geometry.cluster_bits();  // what an entry can name
}

// What is in `runs` has been claimed, also after an error.
Result<void> Claim(Core& core, uint64_t wanted, std::vector<ClusterRun>& runs)
    REQUIRES(core.mutex) {
  const uint64_t limit = ClusterLimit(core);
  uint64_t at = core.first_free;
  while (runs.empty()) {
    if (at >= limit)
      return Error(ErrorCode::kNoSpace, "no space left: the device holds no more clusters");
    at = TRY(ClaimFree(core, at, limit, wanted, runs));
    if (runs.empty() && at < limit) TRY(AddRefcountBlock(core, at));
  }
  core.first_free = at;
  return {};
}

// The file is made long enough first: an entry past its end would be an error.
Result<void> MakeDurable(Core& core, const std::vector<ClusterRun>& runs) REQUIRES(core.mutex) {
  const uint64_t end = core.OffsetOf(runs.back().end()).value();
  if (!core.file->facts().fixed_size && end > core.file->size()) {
    TRY(WithoutLock(core, [&] { return core.file->Resize(end); }));
  }
  TRY(WriteRefcounts(core));
  return SyncFile(core);
}

Result<void> ClaimDurably(Core& core, std::vector<ClusterRun>& runs) REQUIRES(core.mutex) {
  TRY(Claim(core, core.next_batch, runs));
  TRY(MarkOpen(core));  // with the batch's sync: without the mark a crash leaks it, no more
  return MakeDurable(core, runs);
}

Result<void> ReserveMore(Core& core) REQUIRES(core.mutex) {
  ReleaseFreed(core);
  std::vector<ClusterRun> runs;
  Result<void> claimed = ClaimDurably(core, runs);
  if (!claimed.ok()) {
    for (const ClusterRun& run : runs) (void)SetRefcounts(core, run, 0).ok();
    return claimed;
  }
  for (const ClusterRun& run : runs) core.reserve.Add(run);
  core.next_batch = std::min(2 * core.next_batch, core.largest_batch);
  return {};
}

// Of metadata that was reserved.
Error CountOfZero(Core& core) REQUIRES(core.mutex) {
  return MarkCorrupt(core, "a cluster with metadata has a reference count of 0");
}

Result<Allocation> TakeReserved(Core& core, uint64_t most) REQUIRES(core.mutex) {
  const ClusterRun run = core.reserve.Take(most);
  if (HoldsMetadata(core, run)) return CountOfZero(core);
  return Split(core, run);
}

}  // namespace

Result<std::optional<Allocation>> Allocate(Core& core, uint64_t most) {
  if (!core.reserve.empty()) return std::optional(TRY(TakeReserved(core, most)));
  BecomeMaintainer(core);
  Result<void> reserved = core.reserve.empty() ? ReserveMore(core) : Result<void>();
  EndMaintenance(core);
  TRY(std::move(reserved));
  return std::optional<Allocation>();
}

Result<void> MarkOpen(Core& core) {
  if (std::exchange(core.open_marked, true)) return {};
  Header marked = core.header;
  TRY(WithoutLock(core, [&] { return SetOpenMark(*core.file, marked); }));
  core.header.extensions = std::move(marked.extensions);
  core.header.extensions_end = marked.extensions_end;
  return {};
}

Result<ClusterRun> AllocateRow(Core& core, uint64_t clusters) {
  core.next_batch = std::max(core.next_batch, std::min(clusters, core.largest_batch));
  for (;;) {
    // Batches join: each brings the row closer, at the file's end at last.
    const std::optional<ClusterRun> row = core.reserve.TakeRow(clusters);
    if (!row) {
      TRY(ReserveMore(core));
      continue;
    }
    if (HoldsMetadata(core, *row)) return CountOfZero(core);
    core.never_written = std::max(core.never_written, core.OffsetOf(row->end()));
    return *row;
  }
}

}  // namespace skiff::qcow2
