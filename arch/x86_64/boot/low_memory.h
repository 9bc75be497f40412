#pragma once

#include "base/position.h"

namespace skiff::x86_64 {

// What we place below 1 MiB. Page 0 stays the guest's (the BIOS data area with the warm-boot word
// at 0x472 lies there); 0x1000 to 0x6fff is free for whoever sets up the vCPUs (descriptor
// tables, page tables).
inline constexpr GuestAddr kBootInfo{0x7000};  // boot_params, or hvm_start_info and its lists
inline constexpr uint64_t kBootInfoBytes = 0x2000;
inline constexpr GuestAddr kCommandLine{0x10000};
inline constexpr uint64_t kCommandLineBytes = 0x10000;  // with the final NUL
inline constexpr GuestAddr kEndOfConventionalMemory{0x9fc00};
// The RSDP is searched for from here to 1 MiB on 16-byte borders (ACPI 6.4, 5.2.5.1); the other
// tables follow it.
inline constexpr GuestAddr kAcpiTables{0xe0000};
inline constexpr GuestAddr kOneMiB{0x100000};

}  // namespace skiff::x86_64
