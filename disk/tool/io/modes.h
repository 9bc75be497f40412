#pragma once

#include <string>

#include "disk/tool/io/image_plan.h"

namespace skiff::io {

// The arguments of options that `skiff-io` itself and its command `open` share. The error is
// QEMU's.
Result<void> SetCache(const std::string& word, ImageRequest& request);
Result<void> SetDiscard(const std::string& word, ImageRequest& request);
Result<void> SetAio(const std::string& word, ImageRequest& request);

}  // namespace skiff::io
