#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "base/endian.h"

// ELF-64 as it lies in the file, little-endian. Names: System V gABI 4.1, chapters 4 "ELF Header"
// and 5 "Program Header", and ELF-64 Object File Format 1.5.
namespace skiff::elf {

inline constexpr std::array<uint8_t, 4> kMagic = {0x7f, 'E', 'L', 'F'};
inline constexpr size_t kClassIndex = 4;
inline constexpr size_t kDataIndex = 5;
inline constexpr uint8_t kClass64 = 2;
inline constexpr uint8_t kDataLittle = 1;

inline constexpr uint16_t kTypeExecutable = 2;
inline constexpr uint16_t kTypeShared = 3;  // a position-independent kernel

inline constexpr uint32_t kSegmentLoad = 1;
inline constexpr uint32_t kSegmentNote = 4;

struct FileHeader {
  std::array<uint8_t, 16> e_ident;
  Le16 e_type;
  Le16 e_machine;
  Le32 e_version;
  Le64 e_entry;
  Le64 e_phoff;
  Le64 e_shoff;
  Le32 e_flags;
  Le16 e_ehsize;
  Le16 e_phentsize;
  Le16 e_phnum;
  Le16 e_shentsize;
  Le16 e_shnum;
  Le16 e_shstrndx;
};
static_assert(sizeof(FileHeader) == 64);

struct ProgramHeader {
  Le32 p_type;
  Le32 p_flags;
  Le64 p_offset;
  Le64 p_vaddr;
  Le64 p_paddr;
  Le64 p_filesz;
  Le64 p_memsz;
  Le64 p_align;
};
static_assert(sizeof(ProgramHeader) == 56);

struct NoteHeader {
  Le32 n_namesz;
  Le32 n_descsz;
  Le32 n_type;
};
static_assert(sizeof(NoteHeader) == 12);

}  // namespace skiff::elf
