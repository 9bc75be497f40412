#pragma once

#include "disk/qcow2/core.h"

namespace skiff::qcow2 {

// Where the slice with the entry of a guest cluster is, for changing it: makes an L2 table where
// there is none, and copies one that a snapshot shares. nullopt: the mutex was given up, start
// again.
Result<std::optional<FileOffset>> WritableL2Slice(Core& core, DiskOffset offset)
    REQUIRES(core.mutex);

}  // namespace skiff::qcow2
