#pragma once

#include "disk/qcow2/core.h"

namespace skiff::qcow2 {

// Gives the disk another size (bytes, a multiple of 512); nobody else uses the image meanwhile, and
// it must be opened anew afterwards. What is added reads as zeroes, except for the rest of the
// cluster that the old end is in: zero that before. What is cut off is freed. Cut off at any
// moment, the disk has its old size or the new one.
//
// kUnsupported for version 2 with snapshots, as in QEMU, or where only the zero flag would hide the
// backing file; kOutOfRange if the L1 table would be too large.
Result<void> Resize(Core& core, uint64_t size) EXCLUDES(core.mutex);

}  // namespace skiff::qcow2
