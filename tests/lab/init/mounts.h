#pragma once

#include <string>

#include "base/result.h"

namespace skiff::lab {

// The machine's file systems. Call these in this order, once.

// /proc, /sys and /dev of the initramfs: what loading modules and logging need.
Result<void> MountEarly();

// The host's tree (9p, read-only) under an overlay whose upper layer is a tmpfs, with fresh
// /proc, /sys, /dev, /run and /dev/shm, becomes the root. The initramfs is out of reach then.
Result<void> SwitchToHostTree();

// The host directory `path`, writable, at the same path. What is written is on the host at once.
Result<void> MountOut(const std::string& path);

// The kernel's modules, which the host keeps in `path`, where modprobe looks for them.
Result<void> MountModules(const std::string& path);

}  // namespace skiff::lab
