#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "arch/loader/elf_format.h"
#include "arch/x86_64/boot/boot_params.h"
#include "arch/x86_64/boot/load_kernel.h"
#include "arch/x86_64/boot/low_memory.h"
#include "arch/x86_64/boot/platform.h"
#include "arch/x86_64/boot/start_info.h"
#include "base/arith.h"
#include "base/guest_memory.h"
#include "base/position.h"

// Hand-made kernels for the tests here: sound ones that a test then breaks in one place.
namespace skiff::x86_64::testing_images {

inline GuestRange At(uint64_t start, uint64_t length) {
  return GuestRange::Make(GuestAddr(start), length).value();
}

// As the machine code lays memory out.
inline Platform MakePlatform(uint64_t memory_bytes) {
  constexpr uint64_t kLowLimit = 3 * kGiB;
  Platform platform;
  platform.low_ram = At(0, memory_bytes < kLowLimit ? memory_bytes : kLowLimit);
  if (memory_bytes > kLowLimit) platform.high_ram = At(4 * kGiB, memory_bytes - kLowLimit);
  platform.mmio_window = At(kLowLimit, 512 * kMiB);
  platform.ecam = At(0xe0000000, kMiB);
  platform.kvm_pages = At(0xfffbc000, 0x4000);
  return platform;
}

using FileBytes = std::vector<uint8_t>;

template <typename T>
void Put(FileBytes& file, size_t offset, const T& value) {
  if (file.size() < offset + sizeof value) file.resize(offset + sizeof value);
  std::memcpy(file.data() + offset, &value, sizeof value);
}

// A bzImage like Debian's: relocatable, 64-bit entry, initrd below 2 GiB or above 4 GiB.
struct BzImageBuilder {
  SetupHeader header = DebianHeader();
  FileBytes code = FileBytes(64 * 1024, 0xc5);

  static SetupHeader DebianHeader() {
    SetupHeader h{};
    h.setup_sects = 3;
    h.boot_flag = kBootFlag;
    h.jump_opcode = 0xeb;
    h.jump_offset = 0x6a;
    h.header = kSetupMagic;
    h.version = 0x020f;
    h.loadflags = kLoadedHigh;
    h.initrd_addr_max = 0x7fffffff;
    h.kernel_alignment = 2 * kMiB;
    h.relocatable_kernel = 1;
    h.xloadflags = 0x7f;
    h.cmdline_size = 2047;
    h.pref_address = 16 * kMiB;
    h.init_size = 55 * kMiB;
    return h;
  }

  FileBytes Build() {
    if (header.syssize == 0) header.syssize = static_cast<uint32_t>(code.size() / 16);
    const uint64_t sectors = header.setup_sects == 0 ? 4 : header.setup_sects;
    FileBytes file((sectors + 1) * kSectorBytes);
    Put(file, kSetupHeaderOffset, header);
    file.insert(file.end(), code.begin(), code.end());
    return file;
  }
};

// A vmlinux: one loaded segment at 16 MiB with some bss, one note segment.
struct ElfBuilder {
  static constexpr size_t kCodeOffset = 0x1000;
  static constexpr size_t kNoteOffset = 0x200;
  elf::FileHeader header = DefaultHeader();
  elf::ProgramHeader load = DefaultLoad();
  FileBytes code = FileBytes(32 * 1024, 0xe1);
  std::optional<uint64_t> pvh_entry = 16 * kMiB + 0x100;
  bool wide_note = true;

  static elf::FileHeader DefaultHeader() {
    elf::FileHeader h{};
    h.e_ident = {0x7f, 'E', 'L', 'F', elf::kClass64, elf::kDataLittle, 1};
    h.e_type = elf::kTypeExecutable;
    h.e_machine = 62;
    h.e_phoff = sizeof h;
    h.e_phentsize = sizeof(elf::ProgramHeader);
    h.e_phnum = 2;
    return h;
  }
  static elf::ProgramHeader DefaultLoad() {
    elf::ProgramHeader p{};
    p.p_type = elf::kSegmentLoad;
    p.p_offset = kCodeOffset;
    p.p_paddr = 16 * kMiB;
    p.p_filesz = 32 * 1024;
    p.p_memsz = 8 * kMiB;
    return p;
  }

  FileBytes Build() const {
    FileBytes file(kCodeOffset);
    Put(file, 0, header);
    Put(file, sizeof header, load);
    FileBytes notes = Note("GNU", 3, FileBytes(5, 0xab));  // one before, of odd length
    if (pvh_entry) {
      FileBytes entry;
      if (wide_note) Put(entry, 0, Le64(*pvh_entry));
      if (!wide_note) Put(entry, 0, Le32(static_cast<uint32_t>(*pvh_entry)));
      const FileBytes note = Note(kXenNoteName, kXenNotePhys32Entry, entry);
      notes.insert(notes.end(), note.begin(), note.end());
    }
    elf::ProgramHeader note{};
    note.p_type = elf::kSegmentNote;
    note.p_offset = kNoteOffset;
    note.p_filesz = notes.size();
    Put(file, sizeof header + sizeof load, note);
    std::copy(notes.begin(), notes.end(), file.begin() + kNoteOffset);
    file.insert(file.end(), code.begin(), code.end());
    return file;
  }

  static FileBytes Note(const std::string& name, uint32_t type, const FileBytes& description) {
    FileBytes note;
    elf::NoteHeader header_bytes{static_cast<uint32_t>(name.size() + 1),
                                 static_cast<uint32_t>(description.size()), type};
    Put(note, 0, header_bytes);
    note.insert(note.end(), name.begin(), name.end());
    note.push_back(0);
    note.resize(AlignUp<size_t>(note.size(), 4));
    note.insert(note.end(), description.begin(), description.end());
    note.resize(AlignUp<size_t>(note.size(), 4));
    return note;
  }
};

// A file in the test's own directory.
inline std::string WriteFile(const std::string& path, const FileBytes& bytes) {
  std::ofstream(path, std::ios::binary | std::ios::trunc)
      .write(reinterpret_cast<const char*>(bytes.data()),
             static_cast<std::streamsize>(bytes.size()));
  return path;
}

inline constexpr GuestAddr kRsdp{0xe0000};

// A guest to load into, and the result.
class Loading {
 public:
  explicit Loading(uint64_t memory_bytes = 256 * kMiB)
      : platform(MakePlatform(memory_bytes)), memory(Allocate(platform)) {}

  Result<KernelEntry> Load(const FileBytes& kernel, std::optional<uint64_t> initrd_bytes = {},
                           std::string command_line = "console=ttyS0") {
    BootConfig boot;
    boot.kernel = WriteFile(::testing::TempDir() + "kernel.gz", kernel);
    boot.command_line = std::move(command_line);
    if (initrd_bytes) {
      boot.initrd = WriteFile(::testing::TempDir() + "initrd", FileBytes{'0', '7'});
      EXPECT_EQ(truncate(boot.initrd->c_str(), static_cast<off_t>(*initrd_bytes)), 0);
    }
    return LoadKernel(memory, platform, kRsdp, boot);
  }

  template <typename T>
  T Read(uint64_t address) const {
    return memory.Read<T>(GuestAddr(address)).value();
  }
  BootParams params() const { return Read<BootParams>(kBootInfo.value()); }
  std::string CommandLine() const {
    std::string text;
    for (uint64_t at = kCommandLine.value(); const char c = Read<char>(at); ++at) text += c;
    return text;
  }

  const Platform platform;
  const GuestMemory memory;

 private:
  static GuestMemory Allocate(const Platform& platform) {
    std::vector<GuestRange> ranges = {platform.low_ram};
    if (!platform.high_ram.empty()) ranges.push_back(platform.high_ram);
    return GuestMemory::Allocate(ranges).value();
  }
};

}  // namespace skiff::x86_64::testing_images
