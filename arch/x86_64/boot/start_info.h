#pragma once

#include <cstdint>

#include "base/endian.h"

// What a PVH kernel finds at EBX: Xen's public header arch-x86/hvm/start_info.h ("x86/HVM direct
// boot ABI"). Field names are that document's.
namespace skiff::x86_64 {

inline constexpr char kXenNoteName[] = "Xen";
inline constexpr uint32_t kXenNotePhys32Entry = 18;  // XEN_ELFNOTE_PHYS32_ENTRY

inline constexpr uint32_t kStartInfoMagic = 0x336ec578;  // "xEn3" with bit 31 set
inline constexpr uint32_t kStartInfoVersion = 1;         // the first with a memory map

struct StartInfo {
  Le32 magic;
  Le32 version;
  Le32 flags;
  Le32 nr_modules;
  Le64 modlist_paddr;
  Le64 cmdline_paddr;
  Le64 rsdp_paddr;
  Le64 memmap_paddr;
  Le32 memmap_entries;
  Le32 reserved;
};
static_assert(sizeof(StartInfo) == 56);

struct ModuleListEntry {
  Le64 paddr;
  Le64 size;
  Le64 cmdline_paddr;
  Le64 reserved;
};
static_assert(sizeof(ModuleListEntry) == 32);

struct MemoryMapEntry {
  Le64 addr;
  Le64 size;
  Le32 type;  // as in E820
  Le32 reserved;
};
static_assert(sizeof(MemoryMapEntry) == 24);

}  // namespace skiff::x86_64
