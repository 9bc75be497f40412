#include "vmm/config.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "base/arith.h"
#include "vmm/outcome.h"

namespace skiff {
namespace {

using std::chrono::milliseconds;

struct Size {
  const char* text;
  uint64_t bytes;  // 0: refused
};

TEST(ParseMemorySize, TakesWhatPeopleWrite) {
  for (const Size& size : {Size{"512M", 512 * kMiB},
                           Size{"2G", 2 * kGiB},
                           Size{"512", 512 * kMiB},
                           Size{"1.5g", 1536 * kMiB},
                           Size{"256MiB", 256 * kMiB},
                           Size{"1GB", kGiB},
                           Size{"1048576k", kGiB},
                           Size{"1T", 1024 * kGiB},
                           Size{"", 0},
                           Size{"G", 0},
                           Size{"-1G", 0},
                           Size{"0", 0},
                           Size{"1X", 0},
                           Size{"12 G", 0},
                           Size{"nan", 0},
                           Size{"inf", 0},
                           Size{"1e9G", 0},
                           Size{"99999999T", 0},
                           Size{"1k", 0},
                           Size{"0x200M", 0}}) {
    const auto parsed = ParseMemorySize(size.text);
    EXPECT_EQ(parsed.ok() ? *parsed : 0, size.bytes) << size.text;
  }
}

TEST(ParseDuration, SecondsUnlessAUnitSaysOtherwise) {
  EXPECT_EQ(*ParseDuration("90"), milliseconds(90'000));
  EXPECT_EQ(*ParseDuration("1.5"), milliseconds(1500));
  EXPECT_EQ(*ParseDuration("2m"), milliseconds(120'000));
  EXPECT_EQ(*ParseDuration("250ms"), milliseconds(250));
  for (const char* bad : {"", "s", "-1", "0", "1d", "1e99", "5 s"})
    EXPECT_FALSE(ParseDuration(bad).ok()) << bad;
}

TEST(ParseDisk, ReadsOptionsAndDoubledCommas) {
  const auto disk = ParseDisk("a,,b.raw,readonly=on,serial=data0,format=raw,cache=none");
  ASSERT_TRUE(disk.ok()) << disk.error().message();
  EXPECT_EQ(disk->open.path, "a,b.raw");
  EXPECT_TRUE(disk->open.read_only);
  EXPECT_EQ(disk->serial, "data0");
}

TEST(ParseDisk, RefusesWhatItDoesNotKnow) {
  for (const char* bad : {"", ",readonly=on", "a,readonly=maybe", "a,format=vmdk", "a,cache=fast",
                          "a,nonsense=1", "a,serial=", "a,serial=123456789012345678901", "a,"}) {
    const auto disk = ParseDisk(bad);
    ASSERT_FALSE(disk.ok()) << bad;
    EXPECT_EQ(disk.error().message().find('\n'), std::string::npos) << "one line";
  }
}

TEST(ParseName, KeepsToWordsThatAreSafeInPaths) {
  EXPECT_TRUE(ParseName("web-1.test_2").ok());
  for (const char* bad : {"", "..", "a/b", "a b", "-x"}) EXPECT_FALSE(ParseName(bad).ok()) << bad;
  EXPECT_FALSE(ParseName(std::string(64, 'a')).ok());
}

TEST(NewestKernelIn, ComparesVersionsAsNumbersAndFindsTheInitrd) {
  const std::filesystem::path folder = std::filesystem::path(testing::TempDir()) / "boot";
  std::filesystem::create_directories(folder);
  for (const char* name : {"vmlinuz-6.1.0-9-amd64", "vmlinuz-6.1.0-57-amd64", "vmlinuz-5.10.0-1",
                           "initrd.img-6.1.0-57-amd64", "initrd.img-5.10.0-1"})
    std::ofstream(folder / name) << "x";
  const auto found = NewestKernelIn(folder);
  ASSERT_TRUE(found.ok());
  EXPECT_EQ(found->kernel, (folder / "vmlinuz-6.1.0-57-amd64").string());
  EXPECT_EQ(found->initrd, (folder / "initrd.img-6.1.0-57-amd64").string());
}

TEST(NewestKernelIn, SaysWhatToDoWhenThereIsNone) {
  const auto found = NewestKernelIn("/nonexistent");
  ASSERT_FALSE(found.ok());
  EXPECT_NE(found.error().message().find("--kernel"), std::string::npos);
}

TEST(KernelCommandLine, PutsTheUsersWordsLast) {
  Config config;
  EXPECT_EQ(KernelCommandLine(config), "console=ttyS0 panic=-1 reboot=panic_warm");
  config.disks.push_back(*ParseDisk("a"));
  config.append = "quiet";
  EXPECT_EQ(KernelCommandLine(config),
            "console=ttyS0 panic=-1 reboot=panic_warm root=/dev/vda rw quiet");
  config.append = "quiet root=/dev/vda1";
  EXPECT_EQ(KernelCommandLine(config).find("root=/dev/vda rw"), std::string::npos);
  config.disks[0].open.read_only = true;
  config.append = "noroot=1";
  EXPECT_NE(KernelCommandLine(config).find("root=/dev/vda ro"), std::string::npos);
}

TEST(ExitStatus, IsAsDocumented) {
  EXPECT_EQ(ExitStatus({EndReason::kPowerOff, 0, {}}), 0);
  EXPECT_EQ(ExitStatus({EndReason::kReset, 0, {}}), 0);
  EXPECT_EQ(ExitStatus({EndReason::kPanicked, 0, {}}), 123);
  EXPECT_EQ(ExitStatus({EndReason::kTripleFault, 0, {}}), 123);
  EXPECT_EQ(ExitStatus({EndReason::kTimeout, 0, {}}), 124);
  EXPECT_EQ(ExitStatus({EndReason::kHostError, 0, {}}), 125);
  EXPECT_EQ(ExitStatus({EndReason::kSignal, 15, {}}), 143);
}

}  // namespace
}  // namespace skiff
