#pragma once

#include <string>
#include <vector>

#include "disk/file.h"

namespace skiff::test {

// A check of its own, simple and slow, for small images without bitmaps: what is wrong with the
// image besides leaked clusters and missing COPIED flags, one line each. Knows nothing of the
// engine.
std::vector<std::string> ErrorsIn(File& file);

}  // namespace skiff::test
