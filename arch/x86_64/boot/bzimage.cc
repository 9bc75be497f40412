#include "arch/x86_64/boot/bzimage.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "arch/x86_64/boot/e820.h"
#include "arch/x86_64/boot/low_memory.h"
#include "base/arith.h"

namespace skiff::x86_64 {

namespace {

Error Broken(const BootFile& file, std::string_view why) {
  return Corrupt(fmt::format("{}: broken bzImage: {}", file.label(), why));
}

Result<SetupHeader> ReadSetupHeader(const BootFile& file) {
  SetupHeader header{};
  TRY(file.ReadAt(kSetupHeaderOffset, std::as_writable_bytes(std::span(&header, 1))));
  if (header.boot_flag != kBootFlag || header.header != kSetupMagic) {
    return Broken(file, "no setup header");
  }
  if (header.version < kProtocol64BitEntry) {
    return Unsupported(fmt::format(
        "{}: a kernel of boot protocol {}.{:02}, too old: 2.12 (Linux 3.8) or newer is needed",
        file.label(), header.version >> 8, header.version & 0xff));
  }
  if (!(header.xloadflags & kXlfKernel64)) {
    return Unsupported(
        fmt::format("{}: is a 32-bit x86 kernel: a 64-bit one is needed", file.label()));
  }
  if (!(header.loadflags & kLoadedHigh)) {
    return Unsupported(fmt::format("{}: is a zImage, to be loaded below 1 MiB", file.label()));
  }
  return header;
}

// The part of the header that the kernel knows; what follows it in the file is code.
SetupHeader WithoutForeignBytes(const SetupHeader& header) {
  constexpr size_t kJumpEnd = offsetof(SetupHeader, header);
  SetupHeader copy{};
  std::memcpy(&copy, &header, std::min(sizeof copy, kJumpEnd + header.jump_offset));
  return copy;
}

// Linux decompresses itself at pref_address or above and uses init_size bytes there, wherever it
// was loaded: boot.rst, "init_size". So pref_address it is.
Result<KernelNeeds> NeedsOf(const BootFile& file, const SetupHeader& header, uint64_t code_bytes) {
  const uint64_t alignment = header.kernel_alignment;
  uint64_t start = header.pref_address;
  if (header.relocatable_kernel) {
    if (!IsPowerOfTwo(alignment)) return Broken(file, "kernel_alignment is no power of two");
    if (start > UINT64_MAX - alignment) return Broken(file, "pref_address makes no sense");
    start = AlignUp(start, alignment);
  }
  auto footprint =
      GuestRange::Make(GuestAddr(start), std::max<uint64_t>(header.init_size, code_bytes));
  if (!footprint.ok()) return Broken(file, "pref_address makes no sense");
  return KernelNeeds{*footprint, header.cmdline_size,
                     GuestAddr(uint64_t{header.initrd_addr_max} + 1),
                     (header.xloadflags & kXlfAbove4G) != 0};
}

void DescribeMemory(const Platform& platform, BootParams& params) {
  const auto map = MemoryMap(platform);
  for (size_t i = 0; i < map.size() && i < kMaxE820Records; ++i) {
    const GuestRange& range = map[i].range;
    params.e820_table[i] = {range.start().value(), range.length(),
                            static_cast<uint32_t>(map[i].type)};
  }
  params.e820_entries = static_cast<uint8_t>(std::min(map.size(), kMaxE820Records));
}

BootParams MakeBootParams(const BzImage& image, const Platform& platform, GuestAddr rsdp,
                          const GuestRange& initrd) {
  BootParams params{};
  params.hdr = image.header;
  params.hdr.type_of_loader = kLoaderUndefined;
  params.hdr.code32_start = static_cast<uint32_t>(image.needs.footprint.start().value());
  params.hdr.cmd_line_ptr = static_cast<uint32_t>(kCommandLine.value());
  params.hdr.ramdisk_image = static_cast<uint32_t>(initrd.start().value());
  params.hdr.ramdisk_size = static_cast<uint32_t>(initrd.length());
  params.ext_ramdisk_image = static_cast<uint32_t>(initrd.start().value() >> 32);
  params.ext_ramdisk_size = static_cast<uint32_t>(initrd.length() >> 32);
  // Since protocol 2.14; older kernels search for the RSDP where it also is.
  params.acpi_rsdp_addr = rsdp.value();
  DescribeMemory(platform, params);
  return params;
}

}  // namespace

Result<BzImage> ParseBzImage(const BootFile& file) {
  const SetupHeader header = TRY(ReadSetupHeader(file));
  // boot.rst, "setup_sects": 0 means 4. The boot sector comes on top.
  const uint64_t sectors = header.setup_sects == 0 ? 4 : header.setup_sects;
  const uint64_t code_offset = (sectors + 1) * kSectorBytes;
  const uint64_t code_bytes = uint64_t{header.syssize} * 16;
  if (code_bytes <= kEntry64Offset) return Broken(file, "no code");
  if (code_offset + code_bytes > file.size()) {
    return Corrupt(
        fmt::format("{}: the file has {} bytes of the {} its header speaks of: it is truncated",
                    file.label(), file.size(), code_offset + code_bytes));
  }
  const KernelNeeds needs = TRY(NeedsOf(file, header, code_bytes));
  return BzImage{WithoutForeignBytes(header), code_offset, code_bytes, needs};
}

Result<KernelEntry> LoadBzImage(const GuestMemory& memory, const Platform& platform, GuestAddr rsdp,
                                const BootFile& kernel, const BootFile* initrd,
                                std::string_view command_line) {
  const BzImage image = TRY(ParseBzImage(kernel));
  TRY(CheckKernelFits(platform, kernel, image.needs));
  TRY(CheckCommandLine(kernel, image.needs, command_line));
  GuestRange initrd_place;
  if (initrd != nullptr) {
    initrd_place = TRY(FindRoomForInitrd(platform, kernel, image.needs, *initrd));
  }

  const GuestSpan code = TRY(memory.At(image.needs.footprint.Prefix(image.code_bytes)));
  TRY(kernel.ReadInto(image.code_offset, code));
  if (initrd != nullptr) {
    const GuestSpan room = TRY(memory.At(initrd_place));
    TRY(initrd->ReadInto(0, room));
  }
  TRY(WriteCommandLine(memory, command_line));
  TRY(memory.Write(kBootInfo, MakeBootParams(image, platform, rsdp, initrd_place)));
  return KernelEntry{EntryMode::kLong64, image.needs.footprint.start() + kEntry64Offset, kBootInfo};
}

}  // namespace skiff::x86_64
