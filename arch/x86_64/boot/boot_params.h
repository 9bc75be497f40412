#pragma once

#include <array>
#include <cstdint>

#include "base/endian.h"

// The "zero page" and the setup header inside it, in the layout of the Linux/x86 boot protocol
// (Documentation/arch/x86/boot.rst "The Real-Mode Kernel Header", zero-page.rst). Field names are
// that document's.
namespace skiff::x86_64 {

inline constexpr uint16_t kBootFlag = 0xaa55;
inline constexpr uint32_t kSetupMagic = 0x53726448;  // "HdrS"
inline constexpr uint16_t kProtocol64BitEntry = 0x020c;
inline constexpr uint8_t kLoaderUndefined = 0xff;

inline constexpr uint8_t kLoadedHigh = 1 << 0;  // loadflags

inline constexpr uint16_t kXlfKernel64 = 1 << 0;  // xloadflags: has a 64-bit entry at 0x200
inline constexpr uint16_t kXlfAbove4G = 1 << 1;   // takes initrd, command line above 4 GiB

inline constexpr uint64_t kSetupHeaderOffset = 0x1f1;  // in the file and in boot_params
inline constexpr uint64_t kEntry64Offset = 0x200;      // from the protected-mode kernel's start
inline constexpr uint64_t kSectorBytes = 512;

struct SetupHeader {
  uint8_t setup_sects;
  Le16 root_flags;
  Le32 syssize;  // of the protected-mode kernel, in units of 16 bytes
  Le16 ram_size;
  Le16 vid_mode;
  Le16 root_dev;
  Le16 boot_flag;
  uint8_t jump_opcode;
  uint8_t jump_offset;  // the header ends this far behind the field
  Le32 header;
  Le16 version;
  Le32 realmode_swtch;
  Le16 start_sys_seg;
  Le16 kernel_version;
  uint8_t type_of_loader;
  uint8_t loadflags;
  Le16 setup_move_size;
  Le32 code32_start;
  Le32 ramdisk_image;
  Le32 ramdisk_size;
  Le32 bootsect_kludge;
  Le16 heap_end_ptr;
  uint8_t ext_loader_ver;
  uint8_t ext_loader_type;
  Le32 cmd_line_ptr;
  Le32 initrd_addr_max;  // the highest address that the initrd may occupy
  Le32 kernel_alignment;
  uint8_t relocatable_kernel;
  uint8_t min_alignment;
  Le16 xloadflags;
  Le32 cmdline_size;  // without the final NUL
  Le32 hardware_subarch;
  Le64 hardware_subarch_data;
  Le32 payload_offset;
  Le32 payload_length;
  Le64 setup_data;
  Le64 pref_address;
  Le32 init_size;
  Le32 handover_offset;
  Le32 kernel_info_offset;
};
static_assert(sizeof(SetupHeader) == 0x26c - 0x1f1);

struct E820Record {
  Le64 addr;
  Le64 size;
  Le32 type;
};
static_assert(sizeof(E820Record) == 20);

inline constexpr size_t kMaxE820Records = 128;

struct BootParams {
  std::array<uint8_t, 0x70> screen_info_to_ist_info;
  Le64 acpi_rsdp_addr;
  std::array<uint8_t, 0xc0 - 0x78> drive_info_to_olpc;
  Le32 ext_ramdisk_image;  // upper halves of the 64-bit values
  Le32 ext_ramdisk_size;
  Le32 ext_cmd_line_ptr;
  std::array<uint8_t, 0x1e8 - 0xcc> edid_to_alt_mem;
  uint8_t e820_entries;
  std::array<uint8_t, 0x1ef - 0x1e9> counts;
  uint8_t sentinel;  // must be 0, else Linux takes the fields around the header for rubbish
  uint8_t pad6;
  SetupHeader hdr;
  std::array<uint8_t, 0x2d0 - 0x26c> edd_signatures;
  std::array<E820Record, kMaxE820Records> e820_table;
  std::array<uint8_t, 0x1000 - 0xcd0> rest;
};
static_assert(sizeof(BootParams) == 0x1000);

}  // namespace skiff::x86_64
