#pragma once

#include <string_view>

#include "base/result.h"
#include "base/unique_fd.h"

namespace skiff::lab {

// Opens for writing the virtio-serial port that QEMU's command line calls `name`. Ports appear a
// little after the driver is loaded, so it waits for this one, at most five seconds. Needs /sys
// and /dev.
Result<UniqueFd> OpenPort(std::string_view name);

}  // namespace skiff::lab
