#pragma once

#include "disk/qcow2/core.h"

namespace skiff::qcow2 {

struct Allocation {
  ClusterRun run;
  // The clusters have never held anything: they read as zeroes, also if writes to them are lost.
  bool fresh = false;
};

// Takes up to `most` clusters in a row, the lowest free ones. If none are reserved it gives the
// mutex up, reserves some and returns none: the caller starts again. kNoSpace if the file can't
// grow. Clusters that come to nothing go back by core.reserve.Add().
Result<std::optional<Allocation>> Allocate(Core& core, uint64_t most) REQUIRES(core.mutex);

// As many clusters as that in a row, for the maintainer; they hold anything.
Result<ClusterRun> AllocateRow(Core& core, uint64_t clusters) REQUIRES(core.mutex);

// Sets the open mark (open_mark.h), once. The maintainer's; the next sync makes it durable.
Result<void> MarkOpen(Core& core) REQUIRES(core.mutex);

}  // namespace skiff::qcow2
