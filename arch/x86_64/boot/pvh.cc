#include "arch/x86_64/boot/pvh.h"

#include <fmt/format.h>

#include <vector>

#include "arch/loader/elf.h"
#include "arch/x86_64/boot/e820.h"
#include "arch/x86_64/boot/fit.h"
#include "arch/x86_64/boot/low_memory.h"
#include "arch/x86_64/boot/start_info.h"
#include "base/arith.h"

namespace skiff::x86_64 {

namespace {

constexpr uint16_t kMachineX86_64 = 62;  // EM_X86_64

// The ABI has no field for it; Linux cuts silently after COMMAND_LINE_SIZE - 1 bytes.
constexpr uint64_t kLinuxCommandLineBytes = 2047;

// The ABI passes 64-bit addresses, but Linux keeps the lower half of the initrd's only.
constexpr GuestAddr kInitrdEnd{4 * kGiB};

Result<GuestAddr> FindEntry(const BootFile& kernel, const ElfImage& image) {
  if (image.machine != kMachineX86_64) {
    return Unsupported(fmt::format("{}: is an ELF file for another CPU (machine {}, not {})",
                                   kernel.label(), image.machine, kMachineX86_64));
  }
  const auto note = TRY(FindElfNote(kernel, image, kXenNoteName, kXenNotePhys32Entry));
  if (!note) {
    return Unsupported(fmt::format(
        "{}: is an ELF file without a PVH entry (no XEN_ELFNOTE_PHYS32_ENTRY note): use a vmlinux "
        "built with CONFIG_PVH=y, or the bzImage",
        kernel.label()));
  }
  const GuestAddr entry(*note);
  if (!image.footprint().Contains(entry) || entry.value() > UINT32_MAX) {
    return Corrupt(fmt::format("{}: its PVH entry {:#x} lies outside of the kernel", kernel.label(),
                               entry.value()));
  }
  return entry;
}

// Structures one behind the other in the boot information area.
class InfoWriter {
 public:
  InfoWriter(const GuestMemory& memory, GuestAddr at) : memory_(memory), next_(at) {}

  template <typename T>
  Result<GuestAddr> Append(const T& value) {
    const GuestAddr at = next_;
    TRY(memory_.Write(at, value));
    next_ = next_ + sizeof value;
    return at;
  }

 private:
  const GuestMemory& memory_;
  GuestAddr next_;
};

Result<void> WriteStartInfo(const GuestMemory& memory, const Platform& platform, GuestAddr rsdp,
                            const GuestRange& initrd) {
  StartInfo info{};
  info.magic = kStartInfoMagic;
  info.version = kStartInfoVersion;
  info.cmdline_paddr = kCommandLine.value();
  info.rsdp_paddr = rsdp.value();
  InfoWriter lists(memory, kBootInfo + sizeof info);
  if (!initrd.empty()) {
    const ModuleListEntry module{initrd.start().value(), initrd.length(), {}, {}};
    info.modlist_paddr = TRY(lists.Append(module)).value();
    info.nr_modules = 1;
  }
  for (const E820Entry& entry : MemoryMap(platform)) {
    const MemoryMapEntry record{
        entry.range.start().value(), entry.range.length(), static_cast<uint32_t>(entry.type), {}};
    const GuestAddr at = TRY(lists.Append(record));
    if (info.memmap_entries == 0) info.memmap_paddr = at.value();
    info.memmap_entries = info.memmap_entries + 1;
  }
  return memory.Write(kBootInfo, info);
}

}  // namespace

Result<KernelEntry> LoadPvh(const GuestMemory& memory, const Platform& platform, GuestAddr rsdp,
                            const BootFile& kernel, const BootFile* initrd,
                            std::string_view command_line) {
  const ElfImage image = TRY(ParseElf(kernel));
  const GuestAddr entry = TRY(FindEntry(kernel, image));
  const KernelNeeds needs{image.footprint(), kLinuxCommandLineBytes, kInitrdEnd, false};
  TRY(CheckKernelFits(platform, kernel, needs));
  TRY(CheckCommandLine(kernel, needs, command_line));
  GuestRange initrd_place;
  if (initrd != nullptr) initrd_place = TRY(FindRoomForInitrd(platform, kernel, needs, *initrd));

  TRY(LoadElfSegments(memory, kernel, image));
  if (initrd != nullptr) {
    const GuestSpan room = TRY(memory.At(initrd_place));
    TRY(initrd->ReadInto(0, room));
  }
  TRY(WriteCommandLine(memory, command_line));
  TRY(WriteStartInfo(memory, platform, rsdp, initrd_place));
  return KernelEntry{EntryMode::kProtected32, entry, kBootInfo};
}

}  // namespace skiff::x86_64
