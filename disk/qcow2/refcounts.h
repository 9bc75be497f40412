#pragma once

#include "disk/qcow2/core.h"

namespace skiff::qcow2 {

// Reference counts of the file's clusters, in memory; the maintainer's. Tables are read as needed,
// without the mutex.

// 0 where there is no refcount block.
Result<uint64_t> RefcountOf(Core& core, uint64_t cluster) REQUIRES(core.mutex);
// kCorrupt where there is no refcount block.
Result<void> SetRefcounts(Core& core, ClusterRun run, uint64_t count) REQUIRES(core.mutex);
// Lowers each by one. What becomes free is punched out of the file before anybody may have it.
// A count that is 0 already stays.
Result<void> LowerRefcounts(Core& core, ClusterRun run) REQUIRES(core.mutex);

// Sets the counts of free clusters from `from` on to 1, at most `most` of them, and appends them
// to `runs`. Looks no further than the first stretch without a refcount block, or than `end`, and
// returns where it stopped.
Result<uint64_t> ClaimFree(Core& core, uint64_t from, uint64_t end, uint64_t most,
                           std::vector<ClusterRun>& runs) REQUIRES(core.mutex);

}  // namespace skiff::qcow2
