#include "arch/x86_64/boot/load_kernel.h"

#include <asm/bootparam.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>

#include "arch/x86_64/boot/bzimage.h"
#include "arch/x86_64/boot/low_memory.h"
#include "arch/x86_64/boot/test_images.h"

namespace skiff::x86_64 {
namespace {

using testing::HasSubstr;
using namespace testing_images;

uint64_t InitrdStart(const BootParams& params) {
  return params.hdr.ramdisk_image | uint64_t{params.ext_ramdisk_image} << 32;
}

TEST(BootParams, HasLinuxsLayout) {
  EXPECT_EQ(sizeof(BootParams), sizeof(boot_params));
  EXPECT_EQ(sizeof(SetupHeader), sizeof(setup_header));
  EXPECT_EQ(offsetof(BootParams, acpi_rsdp_addr), offsetof(boot_params, acpi_rsdp_addr));
  EXPECT_EQ(offsetof(BootParams, ext_ramdisk_image), offsetof(boot_params, ext_ramdisk_image));
  EXPECT_EQ(offsetof(BootParams, e820_entries), offsetof(boot_params, e820_entries));
  EXPECT_EQ(offsetof(BootParams, sentinel), offsetof(boot_params, sentinel));
  EXPECT_EQ(offsetof(BootParams, hdr), offsetof(boot_params, hdr));
  EXPECT_EQ(offsetof(BootParams, e820_table), offsetof(boot_params, e820_table));
  EXPECT_EQ(offsetof(SetupHeader, ramdisk_image), offsetof(setup_header, ramdisk_image));
  EXPECT_EQ(offsetof(SetupHeader, xloadflags), offsetof(setup_header, xloadflags));
  EXPECT_EQ(offsetof(SetupHeader, init_size), offsetof(setup_header, init_size));
  EXPECT_EQ(kXlfKernel64, XLF_KERNEL_64);
  EXPECT_EQ(kXlfAbove4G, XLF_CAN_BE_LOADED_ABOVE_4G);
  EXPECT_EQ(kLoadedHigh, LOADED_HIGH);
}

TEST(LoadBzImage, EntersAt200AboveThePreferredAddress) {
  Loading loading;
  const auto entry = loading.Load(BzImageBuilder().Build());
  ASSERT_TRUE(entry.ok()) << entry.error().message();
  EXPECT_EQ(entry->mode, EntryMode::kLong64);
  EXPECT_EQ(entry->ip, GuestAddr(16 * kMiB + 0x200));
  EXPECT_EQ(entry->boot_info, kBootInfo);
  EXPECT_EQ(loading.Read<uint8_t>(16 * kMiB), 0xc5);
  EXPECT_EQ(loading.Read<uint8_t>(16 * kMiB + 64 * kKiB - 1), 0xc5);
  EXPECT_EQ(loading.Read<uint8_t>(16 * kMiB + 64 * kKiB), 0);
}

TEST(LoadBzImage, FillsTheZeroPage) {
  Loading loading;
  ASSERT_TRUE(loading.Load(BzImageBuilder().Build(), 5000, "quiet root=/dev/vda").ok());
  const BootParams params = loading.params();
  EXPECT_EQ(params.hdr.header, kSetupMagic);
  EXPECT_EQ(params.hdr.type_of_loader, 0xff);
  EXPECT_EQ(params.hdr.cmd_line_ptr, kCommandLine.value());
  EXPECT_EQ(params.hdr.ramdisk_size, 5000u);
  EXPECT_EQ(params.ext_ramdisk_size, 0u);
  EXPECT_EQ(params.acpi_rsdp_addr, kRsdp.value());
  EXPECT_EQ(params.sentinel, 0);
  EXPECT_EQ(params.e820_entries, 5);
  EXPECT_EQ(loading.CommandLine(), "quiet root=/dev/vda");
  EXPECT_EQ(loading.Read<char>(InitrdStart(params)), '0');
}

TEST(LoadBzImage, BytesBehindTheHeaderAreNotTakenForIt) {
  BzImageBuilder image;
  image.header.jump_offset = 0x5e;  // ends before init_size + 4
  image.header.kernel_info_offset = 0xdeadbeef;
  Loading loading;
  ASSERT_TRUE(loading.Load(image.Build()).ok());
  EXPECT_EQ(loading.params().hdr.kernel_info_offset, 0u);
}

TEST(LoadBzImage, ZeroSetupSectorsMeanFour) {
  BzImageBuilder image;
  image.header.setup_sects = 0;
  Loading loading;
  ASSERT_TRUE(loading.Load(image.Build()).ok());
  EXPECT_EQ(loading.Read<uint8_t>(16 * kMiB), 0xc5);
}

TEST(LoadBzImage, TakesTheLongestCommandLine) {
  Loading loading;
  ASSERT_TRUE(loading.Load(BzImageBuilder().Build(), {}, std::string(2047, 'x')).ok());
  EXPECT_EQ(loading.CommandLine().size(), 2047u);
  const auto result = loading.Load(BzImageBuilder().Build(), {}, std::string(2048, 'x'));
  ASSERT_FALSE(result.ok());
  EXPECT_THAT(result.error().message(), HasSubstr("2048"));
  EXPECT_THAT(result.error().message(), HasSubstr("2047"));
}

TEST(LoadPvh, EntersWhereTheNoteSays) {
  for (const bool wide : {false, true}) {
    ElfBuilder image;
    image.wide_note = wide;
    Loading loading;
    const auto entry = loading.Load(image.Build());
    ASSERT_TRUE(entry.ok()) << entry.error().message();
    EXPECT_EQ(entry->mode, EntryMode::kProtected32);
    EXPECT_EQ(entry->ip, GuestAddr(16 * kMiB + 0x100));
    EXPECT_EQ(loading.Read<uint8_t>(16 * kMiB), 0xe1);
    EXPECT_EQ(loading.Read<uint8_t>(16 * kMiB + 32 * kKiB), 0);
  }
}

TEST(LoadPvh, FillsTheStartInfo) {
  Loading loading(6 * kGiB);
  ASSERT_TRUE(loading.Load(ElfBuilder().Build(), 12345, "quiet").ok());
  const auto info = loading.Read<StartInfo>(kBootInfo.value());
  EXPECT_EQ(info.magic, kStartInfoMagic);
  EXPECT_EQ(info.version, 1u);
  EXPECT_EQ(info.rsdp_paddr, kRsdp.value());
  EXPECT_EQ(info.cmdline_paddr, kCommandLine.value());
  EXPECT_EQ(loading.CommandLine(), "quiet");
  ASSERT_EQ(info.nr_modules, 1u);
  const auto module = loading.Read<ModuleListEntry>(info.modlist_paddr);
  EXPECT_EQ(module.size, 12345u);
  EXPECT_EQ(loading.Read<char>(module.paddr), '0');
  ASSERT_EQ(info.memmap_entries, 6u);
  const auto last = loading.Read<MemoryMapEntry>(info.memmap_paddr + 5 * sizeof(MemoryMapEntry));
  EXPECT_EQ(loading.Read<MemoryMapEntry>(info.memmap_paddr).addr, 0u);
  EXPECT_EQ(last.addr, 4 * kGiB);
  EXPECT_EQ(last.size, 3 * kGiB);
  EXPECT_EQ(last.type, 1u);
}

// Where initrds go, over many sizes of memory and initrd.
TEST(LoadBzImage, InitrdLiesInFreeRamOrIsRefused) {
  const BzImageBuilder sound;
  const GuestRange kernel = At(16 * kMiB, 55 * kMiB);
  for (const uint64_t memory_mib :
       {71u, 72u, 80u, 128u, 512u, 1024u, 2048u, 3072u, 3584u, 6144u, 16384u}) {
    Loading loading(memory_mib * kMiB);
    const Platform& platform = loading.platform;
    for (const uint64_t size : {uint64_t{1}, 4096 * uint64_t{1}, kMiB - 1, kMiB, 9 * kMiB,
                                15 * kMiB, 57 * kMiB, 300 * kMiB, 1900 * kMiB}) {
      SCOPED_TRACE(std::to_string(memory_mib) + " MiB, initrd " + std::to_string(size));
      const auto file = BootFile::Open(
          "kernel", WriteFile(testing::TempDir() + "k", BzImageBuilder(sound).Build()));
      const std::string initrd_path = WriteFile(testing::TempDir() + "i", FileBytes{1});
      ASSERT_EQ(truncate(initrd_path.c_str(), static_cast<off_t>(size)), 0);
      const auto initrd = BootFile::Open("initrd", initrd_path);
      const BzImage image = ParseBzImage(file.value()).value();
      const auto place = FindRoomForInitrd(platform, file.value(), image.needs, initrd.value());
      const uint64_t above = std::min(platform.low_ram.length(), 2 * kGiB) - 71 * kMiB;
      const bool fits = size <= above || size <= 15 * kMiB || size <= platform.high_ram.length();
      ASSERT_EQ(place.ok(), fits);
      if (!fits) continue;
      EXPECT_EQ(place->length(), size);
      EXPECT_EQ(place->start().value() % 4096, 0u);
      EXPECT_FALSE(place->Overlaps(kernel));
      EXPECT_GE(place->start(), kOneMiB);
      const bool low = platform.low_ram.Contains(*place) && place->end() <= GuestAddr(2 * kGiB);
      EXPECT_TRUE(low || platform.high_ram.Contains(*place));
    }
  }
}

TEST(LoadBzImage, HighInitrdIsNamedByBothHalves) {
  BzImageBuilder image;
  image.header.initrd_addr_max = 72 * kMiB - 1;  // little room below
  Loading loading(6 * kGiB);
  const auto entry = loading.Load(image.Build(), 20 * kMiB);
  ASSERT_TRUE(entry.ok()) << entry.error().message();
  EXPECT_EQ(InitrdStart(loading.params()), 7 * kGiB - 20 * kMiB);
  EXPECT_EQ(loading.Read<char>(InitrdStart(loading.params())), '0');
}

struct Misfit {
  const char* name;
  uint64_t memory_mib;
  uint64_t initrd_mib;
  std::vector<std::string> says;
};

class DoesNotFit : public testing::TestWithParam<Misfit> {};

TEST_P(DoesNotFit, IsSaidWithSizesBeforeAnythingIsWritten) {
  Loading loading(GetParam().memory_mib * kMiB);
  std::optional<uint64_t> initrd;
  if (GetParam().initrd_mib != 0) initrd = GetParam().initrd_mib * kMiB;
  const auto result = loading.Load(BzImageBuilder().Build(), initrd);
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.error().code(), ErrorCode::kInvalid);
  for (const std::string& part : GetParam().says) {
    EXPECT_THAT(result.error().message(), HasSubstr(part));
  }
  EXPECT_EQ(loading.Read<uint8_t>(kCommandLine.value()), 0);
  EXPECT_EQ(loading.params().hdr.header, 0u);
}

INSTANTIATE_TEST_SUITE_P(
    , DoesNotFit,
    testing::Values(Misfit{"Kernel8MiB", 8, 0, {"needs 71 MiB", "has 8 MiB", "at least 71 MiB"}},
                    Misfit{"Kernel32MiB", 32, 0, {"kernel.gz", "has 32 MiB"}},
                    Misfit{"Kernel70MiB", 70, 0, {"needs 71 MiB", "has 70 MiB"}},
                    Misfit{"Initrd300InTooLittle",
                           256,
                           300,
                           {"initrd", "300 MiB", "71 MiB", "256 MiB", "at least 371 MiB"}},
                    Misfit{"InitrdPastItsLimit", 2900, 2000, {"2000 MiB", "2048 MiB", "smaller"}}),
    [](const auto& test) { return std::string(test.param.name); });

TEST(LoadKernel, NamesTheFilesThatCannotBeOpened) {
  Loading loading;
  BootConfig boot;
  boot.kernel = "/nonexistent/vmlinuz";
  auto result = LoadKernel(loading.memory, loading.platform, kRsdp, boot);
  ASSERT_FALSE(result.ok());
  EXPECT_THAT(result.error().message(), HasSubstr("kernel /nonexistent/vmlinuz"));
  boot.kernel = testing::TempDir();
  result = LoadKernel(loading.memory, loading.platform, kRsdp, boot);
  ASSERT_FALSE(result.ok());
  EXPECT_THAT(result.error().message(), HasSubstr("is a directory"));
  boot.kernel = WriteFile(testing::TempDir() + "kernel", BzImageBuilder().Build());
  boot.initrd = WriteFile(testing::TempDir() + "empty", {});
  result = LoadKernel(loading.memory, loading.platform, kRsdp, boot);
  ASSERT_FALSE(result.ok());
  EXPECT_THAT(result.error().message(), HasSubstr("initrd"));
  EXPECT_THAT(result.error().message(), HasSubstr("empty"));
}

}  // namespace
}  // namespace skiff::x86_64
