#pragma once

#include "disk/qcow2/core.h"

namespace skiff::qcow2 {

// How to read a prefix of `range`. Reads tables as needed.
Result<ReadPlan> PlanRead(Core& core, DiskRange range) EXCLUDES(core.mutex);
// The same from memory only; nullopt: that does not suffice, or an error is to be told.
std::optional<ReadPlan> TryPlanRead(Core& core, DiskRange range) EXCLUDES(core.mutex);

// What is behind a prefix of `range`.
Result<BlockStatus> StatusOf(Core& core, DiskRange range) EXCLUDES(core.mutex);

// The step for bytes of one content inside one cluster: `range` lies in it.
ReadStep StepFor(const Core& core, const Entry& entry, Content content, DiskRange range);
// Makes `last` cover `next` too, if its bytes follow in the same place.
bool Join(ReadStep& last, const ReadStep& next);

}  // namespace skiff::qcow2
