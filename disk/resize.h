#pragma once

#include <cstdint>

#include "disk/image.h"

namespace skiff {

// Gives the disk another size (bytes, a multiple of 512), all in one step as far as a power cut can
// see. What is added reads as zeroes. No request is in flight; the image must be closed and opened
// anew afterwards.
Result<void> ResizeDisk(Image& image, uint64_t size);

}  // namespace skiff
