#pragma once

#include "disk/qcow2/core.h"

namespace skiff::qcow2 {

// Reads what stays in memory while an image is open, and marks the image as being written to.
// Called once, before anybody else knows `core`.
Result<void> Load(Core& core) EXCLUDES(core.mutex);

// Fills core.metadata_clusters anew.
void CollectMetadata(Core& core) REQUIRES(core.mutex);

}  // namespace skiff::qcow2
