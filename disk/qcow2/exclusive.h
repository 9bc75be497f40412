#pragma once

#include "disk/qcow2/bulk_counts.h"
#include "disk/qcow2/core.h"
#include "disk/qcow2/maintenance.h"
#include "disk/qcow2/write_plan.h"

namespace skiff::qcow2 {

// Changes of an image as a whole (snapshots, size): nobody else uses it meanwhile, so these hold
// the mutex throughout, and work on the file with empty caches. Of one maintainer, in this order.

// Writes back all that memory has, makes it durable, and empties the caches of L2 tables and
// counts: the file is the truth.
Result<void> BeginExclusive(Core& core) REQUIRES(core.mutex);

// Calls `change` between BeginExclusive() and the end of the maintenance.
template <typename Change>
Result<void> Exclusively(Core& core, Change change) EXCLUDES(core.mutex) {
  MutexLock lock(core.mutex);
  TRY(CheckWritable(core));
  BecomeMaintainer(core);
  Result<void> changed = BeginExclusive(core);
  if (changed.ok()) changed = change();
  EndMaintenance(core);
  return changed;
}

std::vector<std::byte> EncodeTable(std::span<const uint64_t> entries);
// The clusters of `bytes` at a cluster's start.
ClusterRun RunOf(const Core& core, FileOffset at, uint64_t bytes);

// Clusters in a row for a table, with durable counts of 1, and the table in them. No bytes, no
// clusters.
Result<ClusterRun> WriteToNewClusters(Core& core, std::span<const std::byte> table)
    REQUIRES(core.mutex);

// What the header's first sector is to say; in one write: all of it or nothing.
struct HeaderChange {
  uint64_t size;
  uint32_t l1_size;
  FileOffset l1_table_offset;
  uint32_t nb_snapshots;
  FileOffset snapshots_offset;
};
HeaderChange CurrentHeader(const Core& core) REQUIRES(core.mutex);
// Makes all that was written before durable, then this.
Result<void> SwitchHeader(Core& core, const HeaderChange& change) REQUIRES(core.mutex);

// The active L1 table, in memory and in its place.
Result<void> WriteL1(Core& core, std::span<const uint64_t> entries) REQUIRES(core.mutex);
// Makes `entries` the active L1 table, in new clusters, with a disk of `size` bytes. The old one is
// freed.
Result<void> ReplaceL1(Core& core, std::span<const uint64_t> entries, uint64_t size)
    REQUIRES(core.mutex);

// The counts, for changing many of them; current until the next WriteToNewClusters().
BulkCounts CountsOf(Core& core) REQUIRES(core.mutex);
// Lowers the counts of what no durable entry refers to any more, durably: an L1 table's whole tree,
// and other clusters.
Result<void> LowerDurably(Core& core, std::span<const uint64_t> l1,
                          std::span<const ClusterRun> others) REQUIRES(core.mutex);

}  // namespace skiff::qcow2
