#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <functional>
#include <string>

#include "arch/x86_64/boot/test_images.h"

// One row per way in which a file is no kernel for us, each under a name that misleads.
namespace skiff::x86_64 {
namespace {

using testing::HasSubstr;
using namespace testing_images;

struct Damage {
  const char* name;
  std::function<FileBytes()> make;
  ErrorCode expected;
  const char* says;
};

FileBytes Bz(void (*damage)(BzImageBuilder&)) {
  BzImageBuilder image;
  damage(image);
  return image.Build();
}

FileBytes Elf(void (*damage)(ElfBuilder&)) {
  ElfBuilder image;
  damage(image);
  return image.Build();
}

FileBytes Cut(FileBytes file, size_t bytes) {
  file.resize(bytes);
  return file;
}

FileBytes Start(const char* magic, size_t length) {
  FileBytes file(4096, 0x93);
  std::memcpy(file.data(), magic, length);
  return file;
}

FileBytes Arm64() {
  FileBytes file(4096, 0x93);
  std::memcpy(file.data() + 0x38, "ARM\x64", 4);
  return file;
}

constexpr auto kUnsupported = ErrorCode::kUnsupported;
constexpr auto kCorrupt = ErrorCode::kCorrupt;
constexpr auto kInvalid = ErrorCode::kInvalid;

const Damage kDamages[] = {
    {"Empty", [] { return FileBytes(); }, kUnsupported, "empty"},
    {"OneByte", [] { return FileBytes{0x93}; }, kUnsupported, "not a kernel"},
    {"Gzip", [] { return Start("\x1f\x8b\x08", 3); }, kUnsupported,
     "gzip-compressed file, not a kernel: decompress"},
    {"Xz",
     [] {
       return Start(
           "\xfd"
           "7zXZ\0",
           6);
     },
     kUnsupported, "xz-compressed"},
    {"Zstd", [] { return Start("\x28\xb5\x2f\xfd", 4); }, kUnsupported, "zstd-compressed"},
    {"Bzip2", [] { return Start("BZh9", 4); }, kUnsupported, "bzip2-compressed"},
    {"Lz4", [] { return Start("\x04\x22\x4d\x18", 4); }, kUnsupported, "lz4-compressed"},
    {"Lz4Legacy", [] { return Start("\x02\x21\x4c\x18", 4); }, kUnsupported, "lz4-compressed"},
    {"Lzma", [] { return Start("\x5d\0\0\x80", 4); }, kUnsupported, "lzma-compressed"},
    {"Cpio", [] { return Start("070701", 6); }, kUnsupported, "initrd"},
    {"Qcow2", [] { return Start("QFI\xfb", 4); }, kUnsupported, "disk image"},
    {"EfiProgram", [] { return Start("MZ", 2); }, kUnsupported, "UEFI"},
    {"Arm64Image", Arm64, kUnsupported, "arm64"},
    {"Text", [] { return FileBytes(300, 'a'); }, kUnsupported, "text file"},
    {"Noise", [] { return FileBytes(5000, 0x93); }, kUnsupported, "not a kernel"},
    {"BzImageHeaderCut", [] { return Cut(BzImageBuilder().Build(), 0x220); }, kCorrupt,
     "truncated"},
    {"BzImageSetupCut", [] { return Cut(BzImageBuilder().Build(), 0x400); }, kCorrupt, "truncated"},
    {"BzImageCodeCut", [] { return Cut(BzImageBuilder().Build(), 60000); }, kCorrupt, "truncated"},
    {"BzImageBootFlag", [] { return Bz([](auto& i) { i.header.boot_flag = 0; }); }, kCorrupt,
     "setup header"},
    {"BzImageTooOld", [] { return Bz([](auto& i) { i.header.version = 0x20a; }); }, kUnsupported,
     "2.10"},
    {"BzImage32Bit", [] { return Bz([](auto& i) { i.header.xloadflags = 0x7e; }); }, kUnsupported,
     "32-bit"},
    {"ZImage", [] { return Bz([](auto& i) { i.header.loadflags = 0; }); }, kUnsupported, "zImage"},
    {"BzImageWithoutCode", [] { return Bz([](auto& i) { i.code.resize(512); }); }, kCorrupt,
     "no code"},
    {"BzImageSyssizeHuge", [] { return Bz([](auto& i) { i.header.syssize = 0xffffffff; }); },
     kCorrupt, "truncated"},
    {"BzImageAlignment", [] { return Bz([](auto& i) { i.header.kernel_alignment = 3; }); },
     kCorrupt, "kernel_alignment"},
    {"BzImageAlignmentZero", [] { return Bz([](auto& i) { i.header.kernel_alignment = 0; }); },
     kCorrupt, "kernel_alignment"},
    {"BzImageAtZero", [] { return Bz([](auto& i) { i.header.pref_address = 0; }); }, kUnsupported,
     "1 MiB"},
    {"BzImageWraps", [] { return Bz([](auto& i) { i.header.pref_address = UINT64_MAX; }); },
     kCorrupt, "pref_address"},
    {"BzImageWrapsFixed",
     [] {
       return Bz([](auto& i) {
         i.header.relocatable_kernel = 0;
         i.header.pref_address = UINT64_MAX;
       });
     },
     kCorrupt, "pref_address"},
    {"BzImageInTheHole", [] { return Bz([](auto& i) { i.header.pref_address = 3 * kGiB; }); },
     kUnsupported, "RAM ends"},
    {"BzImageInitSizeHuge", [] { return Bz([](auto& i) { i.header.init_size = 0xffffffff; }); },
     kUnsupported, "RAM ends"},
    {"ElfWithoutNote", [] { return Elf([](auto& i) { i.pvh_entry.reset(); }); }, kUnsupported,
     "XEN_ELFNOTE_PHYS32_ENTRY"},
    {"ElfEntryOutside", [] { return Elf([](auto& i) { i.pvh_entry = 4096; }); }, kCorrupt,
     "outside"},
    {"Elf32Bit", [] { return Elf([](auto& i) { i.header.e_ident[4] = 1; }); }, kUnsupported,
     "32-bit"},
    {"ElfBigEndian", [] { return Elf([](auto& i) { i.header.e_ident[5] = 2; }); }, kUnsupported,
     "big-endian"},
    {"ElfOfArm64", [] { return Elf([](auto& i) { i.header.e_machine = 183; }); }, kUnsupported,
     "another CPU"},
    {"ElfModule", [] { return Elf([](auto& i) { i.header.e_type = 1; }); }, kUnsupported, "module"},
    {"ElfHeaderSize", [] { return Elf([](auto& i) { i.header.e_phentsize = 32; }); }, kCorrupt,
     "program headers"},
    {"ElfManyHeaders", [] { return Elf([](auto& i) { i.header.e_phnum = 60000; }); }, kCorrupt,
     "program headers"},
    {"ElfHeadersOutside", [] { return Elf([](auto& i) { i.header.e_phoff = UINT64_MAX - 8; }); },
     kCorrupt, "truncated"},
    {"ElfNothingToLoad", [] { return Elf([](auto& i) { i.load.p_type = 7; }); }, kCorrupt,
     "nothing to load"},
    {"ElfSegmentOutsideFile", [] { return Elf([](auto& i) { i.load.p_offset = UINT64_MAX - 8; }); },
     kCorrupt, "truncated"},
    {"ElfSegmentTooSmall", [] { return Elf([](auto& i) { i.load.p_memsz = 100; }); }, kCorrupt,
     "larger"},
    {"ElfSegmentWraps", [] { return Elf([](auto& i) { i.load.p_paddr = UINT64_MAX - 8; }); },
     kCorrupt, "wraps"},
    {"ElfSegmentPastRam", [] { return Elf([](auto& i) { i.load.p_memsz = 300 * kMiB; }); },
     kInvalid, "has 256 MiB"},
    {"ElfSegmentLow",
     [] {
       return Elf([](auto& i) {
         i.load.p_paddr = 0x7000;
         i.pvh_entry = 0x7100;
       });
     },
     kUnsupported, "below 1 MiB"},
    {"ElfCut", [] { return Cut(ElfBuilder().Build(), 0x5000); }, kCorrupt, "truncated"},
    {"ElfHeaderCut", [] { return Cut(ElfBuilder().Build(), 40); }, kCorrupt, "truncated"},
};

class BadKernel : public testing::TestWithParam<Damage> {};

TEST_P(BadKernel, IsNamed) {
  Loading loading;
  const auto result = loading.Load(GetParam().make());
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.error().code(), GetParam().expected) << result.error().message();
  EXPECT_THAT(result.error().message(), HasSubstr(GetParam().says));
  EXPECT_THAT(result.error().message(), HasSubstr("kernel.gz"));
}

INSTANTIATE_TEST_SUITE_P(, BadKernel, testing::ValuesIn(kDamages),
                         [](const auto& test) { return std::string(test.param.name); });

}  // namespace
}  // namespace skiff::x86_64
