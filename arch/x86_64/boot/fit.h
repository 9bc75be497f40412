#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "arch/loader/boot_file.h"
#include "arch/x86_64/boot/platform.h"
#include "base/position.h"
#include "base/result.h"

namespace skiff::x86_64 {

// What a kernel asks of memory, whatever its format.
struct KernelNeeds {
  GuestRange footprint;             // until it manages memory itself
  uint64_t command_line_bytes;      // the longest it takes, without the final NUL
  GuestAddr initrd_end;             // the initrd ends at or below
  bool initrd_in_high_ram = false;  // or lies above 4 GiB
};

// Everything below checks before any of guest memory is written.

// kInvalid, with the sizes and the memory that it takes, unless the kernel fits.
Result<void> CheckKernelFits(const Platform& platform, const BootFile& kernel,
                             const KernelNeeds& needs);

// Where the initrd goes. kInvalid, with the sizes and the memory that it takes, if nowhere.
Result<GuestRange> FindRoomForInitrd(const Platform& platform, const BootFile& kernel,
                                     const KernelNeeds& needs, const BootFile& initrd);

// kInvalid, with both lengths, if the kernel would cut the command line.
Result<void> CheckCommandLine(const BootFile& kernel, const KernelNeeds& needs,
                              std::string_view command_line);

// At kCommandLine, with a final NUL.
Result<void> WriteCommandLine(const GuestMemory& memory, std::string_view command_line);

}  // namespace skiff::x86_64
