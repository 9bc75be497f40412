#pragma once

#include <string>
#include <string_view>

#include "disk/qcow2/core.h"
#include "disk/qcow2/snapshot_table.h"

namespace skiff::qcow2 {

// Internal snapshots of an open image that nobody else uses meanwhile, and no request is in flight.
// Cut off at any moment, the image is as before or as after, with leaked clusters at worst and
// COPIED flags missing (ORDER.md). After an error it must not be used any further.

// `snapshot`: name and date; id, size and place are given here, and the disk as it is. kOutOfRange
// if there are too many, or if reference counts are too narrow: then nothing has changed.
Result<void> CreateSnapshot(Core& core, Snapshot snapshot) EXCLUDES(core.mutex);
// The disk becomes what it was then, its size too. kInvalid if there is no such snapshot.
Result<void> ApplySnapshot(Core& core, std::string_view id_or_name) EXCLUDES(core.mutex);
// Only by name, as qemu-img: an id that is also a name of another one would be a trap.
Result<void> DeleteSnapshot(Core& core, std::string_view name) EXCLUDES(core.mutex);

}  // namespace skiff::qcow2
