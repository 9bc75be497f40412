#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "arch/loader/boot_file.h"
#include "base/guest_memory.h"
#include "base/position.h"
#include "base/result.h"

namespace skiff {

// A loadable piece of an ELF file: file bytes, then zeroes up to the end of `memory`.
struct ElfSegment {
  GuestRange memory;  // physical addresses; not empty
  uint64_t file_offset;
  uint64_t file_bytes;  // at most memory.length(); inside the file
};

// An executable ELF-64 file, checked: everything it points to lies inside the file.
struct ElfImage {
  uint16_t machine;                  // e_machine
  GuestAddr entry;                   // e_entry
  std::vector<ElfSegment> segments;  // at least one
  std::vector<FileRange> notes;

  // From the first segment's start to the last one's end.
  GuestRange footprint() const;
};

// kUnsupported for another class, byte order or type of ELF file; kCorrupt where the file
// contradicts itself or ends early.
Result<ElfImage> ParseElf(const BootFile& file);

// The integer (4 or 8 bytes) in the note of that name and type; nullopt if there is none.
Result<std::optional<uint64_t>> FindElfNote(const BootFile& file, const ElfImage& image,
                                            std::string_view name, uint32_t type);

// Reads the segments into memory that is zero so far.
Result<void> LoadElfSegments(const GuestMemory& memory, const BootFile& file,
                             const ElfImage& image);

}  // namespace skiff
