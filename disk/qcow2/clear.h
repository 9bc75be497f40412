#pragma once

#include "disk/qcow2/core.h"

namespace skiff::qcow2 {

enum class Clear : uint8_t {
  kDiscard,    // the content is no longer needed; it reads as zeroes if the format can say so
  kZero,       // zeroes; host clusters stay, so that a later write finds its place
  kZeroUnmap,  // zeroes; host clusters are freed
};

// `range` is of whole clusters, or ends with the disk. kUnsupported: version 2 has no word for
// zeroes there, so they must be written (parts of the range may be done already).
Result<void> ClearRange(Core& core, DiskRange range, Clear how) EXCLUDES(core.mutex);

}  // namespace skiff::qcow2
