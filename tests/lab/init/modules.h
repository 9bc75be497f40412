#pragma once

#include <string>

#include "base/result.h"

namespace skiff::lab {

// Loads the kernel modules that `order_file` lists, one path a line, in that order (see
// guest-images/make-initrd). Modules for hardware that is not there are passed over.
Result<void> LoadModules(const std::string& order_file);

}  // namespace skiff::lab
