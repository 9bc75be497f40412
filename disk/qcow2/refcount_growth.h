#pragma once

#include "disk/qcow2/core.h"

namespace skiff::qcow2 {

// Makes reference counts for `cluster`, which is free, and for those around it: a new refcount
// block, that goes where `cluster` is and counts itself; and if the refcount table has no entry
// for it, a larger table. The maintainer's; gives the mutex up.
Result<void> AddRefcountBlock(Core& core, uint64_t cluster) REQUIRES(core.mutex);

}  // namespace skiff::qcow2
