#pragma once

#include "arch/loader/boot_config.h"
#include "arch/x86_64/boot/platform.h"
#include "base/guest_memory.h"
#include "base/result.h"

namespace skiff::x86_64 {

enum class EntryMode : uint8_t {
  // Linux x86 boot protocol, "64-bit Boot Protocol": long mode, memory below 4 GiB mapped one to
  // one, CS 0x10, DS/ES/SS 0x18, interrupts off, RSI = boot_info.
  kLong64,
  // PVH: protected mode without paging, flat 32-bit segments, a 32-bit TSS, interrupts off,
  // EBX = boot_info.
  kProtected32,
};

// Where the first vCPU starts.
struct KernelEntry {
  EntryMode mode;
  GuestAddr ip;
  GuestAddr boot_info;  // boot_params or hvm_start_info
};

// Puts the kernel (bzImage or ELF with a PVH note, told apart by content), the initrd, the command
// line and the memory map into fresh guest memory. `rsdp` is what acpi::WriteTables returned.
// Errors name the file, what is wrong, and both sizes where something does not fit. Memory is
// written only after everything is known to fit.
Result<KernelEntry> LoadKernel(const GuestMemory& memory, const Platform& platform, GuestAddr rsdp,
                               const BootConfig& boot);

}  // namespace skiff::x86_64
