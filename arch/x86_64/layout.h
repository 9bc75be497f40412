#pragma once

#include <cstdint>
#include <vector>

#include "base/arith.h"
#include "base/position.h"
#include "base/result.h"

// Where the parts of a skiff PC are: memory, ports, interrupts.
namespace skiff::x86_64 {

// RAM: [0, 3 GiB) and, for what does not fit, [4 GiB, …). The hole between holds the windows
// below. RAM also lies under 640 KiB..1 MiB; E820 reports that part as reserved.
inline constexpr uint64_t kLowRamLimit = 3 * kGiB;
inline constexpr uint64_t kHighRamStart = 4 * kGiB;

// The hole: PCI's 32-bit window, its configuration space, then what the CPU decodes.
inline constexpr uint64_t kPciWindowStart = kLowRamLimit;
inline constexpr uint64_t kPciWindowEnd = 0xE0000000;
inline constexpr uint64_t kEcamStart = 0xE0000000;  // segment 0, bus 0 alone
inline constexpr uint64_t kEcamBytes = kMiB;        // 32 devices x 8 functions x 4 KiB
inline constexpr uint64_t kIoApicAddress = 0xFEC00000;
inline constexpr uint64_t kLocalApicAddress = 0xFEE00000;

// Pages that KVM needs on Intel hosts without unrestricted guest mode. The guest must not use
// them: E820 reports [kKvmPagesStart, kKvmPagesEnd) as reserved.
inline constexpr uint64_t kIdentityMapAddress = 0xFFFBC000;  // one page
inline constexpr uint64_t kTssAddress = 0xFFFBD000;          // three pages
inline constexpr uint64_t kKvmPagesStart = kIdentityMapAddress;
inline constexpr uint64_t kKvmPagesEnd = 0xFFFC0000;

// What the first vCPU needs in low memory at its entry; boot/low_memory.h has the rest of it.
inline constexpr uint64_t kWarmBootWordAddress = 0x472;  // BIOS data area
inline constexpr uint16_t kWarmBootWord = 0x1234;        // "warm", written before a reset
inline constexpr uint64_t kGdtAddress = 0x1000;
inline constexpr uint64_t kEntryTssAddress = 0x1800;    // the task register's segment
inline constexpr uint64_t kPageTablesAddress = 0x9000;  // PML4, PDPT, four page directories
inline constexpr uint64_t kPageTablesEnd = 0xF000;

// Ports of devices that work at any address; the others name theirs themselves.
inline constexpr uint16_t kCom1Port = 0x3F8;
inline constexpr uint16_t kComPorts = 8;
inline constexpr uint16_t kCmosPort = 0x70;
inline constexpr uint16_t kCmosPorts = 2;

// Interrupts, as global system interrupts: I/O APIC pins, and the PIC's for the first 16. The
// PIT's IRQ 0 arrives at pin 2 (MADT has the override).
inline constexpr uint32_t kPitIrq = 0;
inline constexpr uint32_t kPitIoApicPin = 2;
inline constexpr uint32_t kCom1Gsi = 4;
inline constexpr uint32_t kPciIntxFirstGsi = 16;  // INTA of device 0; four lines, swizzled
inline constexpr uint32_t kPciIntxLines = 4;
inline constexpr uint32_t kIoApicPins = 24;

// The RAM ranges of a machine with `memory_bytes`, sorted; kInvalid unless it is a positive
// multiple of 1 MiB that ends below 2^52.
Result<std::vector<GuestRange>> RamRanges(uint64_t memory_bytes);

}  // namespace skiff::x86_64
