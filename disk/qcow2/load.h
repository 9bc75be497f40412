#pragma once

#include "disk/qcow2/core.h"

namespace skiff::qcow2 {

// Reads what stays in memory while an image is open, and marks the image as being written to.
// Called once, before anybody else knows `core`.
Result<void> Load(Core& core) EXCLUDES(core.mutex);

}  // namespace skiff::qcow2
