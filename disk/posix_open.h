#pragma once

#include <string>

#include "base/result.h"
#include "base/unique_fd.h"

namespace skiff {

// Opens the regular file or block device at `path`. An error is one line that names the path, says
// what is wrong and what to do about it, for people who gave the path on a command line.
// A block device that is opened for writing is claimed (O_EXCL), which fails while the host has it
// mounted or otherwise in use.
Result<UniqueFd> OpenDescriptor(const std::string& path, bool read_only);

}  // namespace skiff
