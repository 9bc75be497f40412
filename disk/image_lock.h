#pragma once

#include <string>

#include "base/result.h"

namespace skiff {

// Marks the open image `fd` as in use, so that two programs do not write to it: one writer alone,
// or any number of readers. Fails with a line for the user if others are in the way.
//
// Works together with QEMU and its tools, whose marks are read locks on single bytes of the file
// (byte 100 + n: "I do n", byte 200 + n: "nobody else may do n"). They are open file description
// locks: gone with the last descriptor, also after SIGKILL. A file system without such locks
// costs a warning only.
Result<void> LockImage(int fd, const std::string& path, bool writer);

}  // namespace skiff
