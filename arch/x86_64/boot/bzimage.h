#pragma once

#include <string_view>

#include "arch/loader/boot_file.h"
#include "arch/x86_64/boot/boot_params.h"
#include "arch/x86_64/boot/fit.h"
#include "arch/x86_64/boot/load_kernel.h"
#include "base/guest_memory.h"
#include "base/result.h"

namespace skiff::x86_64 {

// A bzImage with a 64-bit entry whose header makes sense.
struct BzImage {
  SetupHeader header;
  uint64_t code_offset;  // of the protected-mode kernel in the file
  uint64_t code_bytes;
  KernelNeeds needs;
};

// kUnsupported without a 64-bit entry, kCorrupt where header and file disagree.
Result<BzImage> ParseBzImage(const BootFile& file);

// By the 64-bit boot protocol. `initrd` may be null.
Result<KernelEntry> LoadBzImage(const GuestMemory& memory, const Platform& platform, GuestAddr rsdp,
                                const BootFile& kernel, const BootFile* initrd,
                                std::string_view command_line);

}  // namespace skiff::x86_64
