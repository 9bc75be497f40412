#pragma once

#include <string_view>

#include "arch/loader/boot_file.h"
#include "arch/x86_64/boot/load_kernel.h"
#include "base/guest_memory.h"
#include "base/result.h"

namespace skiff::x86_64 {

// Loads an ELF kernel with a PVH entry. kUnsupported without one. `initrd` may be null.
Result<KernelEntry> LoadPvh(const GuestMemory& memory, const Platform& platform, GuestAddr rsdp,
                            const BootFile& kernel, const BootFile* initrd,
                            std::string_view command_line);

}  // namespace skiff::x86_64
