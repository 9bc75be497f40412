#pragma once

#include "disk/qcow2/core.h"

namespace skiff::qcow2 {

// How to write a prefix of `range`: into clusters that are in place, or into new ones that Commit()
// links. Until then other changes of the same guest clusters wait.
Result<WritePlan> PlanWrite(Core& core, DiskRange range) EXCLUDES(core.mutex);
// The same if all is in place and known in memory.
std::optional<WritePlan> TryPlanWrite(Core& core, DiskRange range) EXCLUDES(core.mutex);

// An error if nothing may be changed.
Result<void> CheckWritable(const Core& core) REQUIRES(core.mutex);
// Host clusters that `old` refers to, and its successor does not, are freed when that is durable.
void FreeReplaced(Core& core, const Entry& old, const Entry& replacement) REQUIRES(core.mutex);
// Writes metadata back if memory holds much that is not in the file. Gives the mutex up.
Result<void> BoundDirty(Core& core) REQUIRES(core.mutex);

}  // namespace skiff::qcow2
