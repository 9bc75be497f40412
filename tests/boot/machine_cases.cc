// vCPUs and memory as the guest sees them.
#include <gtest/gtest.h>

#include "tests/boot/guest.h"

namespace skiff::boot {
namespace {

class Cpus : public testing::TestWithParam<int> {};

// K-04: all online, and no firmware-bug line about APIC ids.
TEST_P(Cpus, AllOnlineWithoutFirmwareBugs) {
  const std::string count = std::to_string(GetParam());
  const Finished finished =
      Boot({.script = "echo cpus=$(nproc); "
                      "echo bugs=$(dmesg | grep -ciE \"[f]irmware bug|APIC [i]d mis\")",
            .options = {"-m", "256M", "-c", count}});
  ExpectGoodRun(finished);
  EXPECT_EQ(Line(finished, "cpus"), count);
  EXPECT_EQ(Line(finished, "bugs"), "0") << finished.out;
}

INSTANTIATE_TEST_SUITE_P(, Cpus, testing::Values(1, 2, 4), testing::PrintToStringParamName());

struct Memory {
  const char* name;
  const char* option;
  double mebibytes;
};

class MemorySizes : public testing::TestWithParam<Memory> {};

// K-03: MemTotal is memory less what the kernel keeps: 1/64 for page structures, some 40 MiB of its
// own, and 64 MiB of bounce buffers (swiotlb) when there is memory above 4 GiB.
TEST_P(MemorySizes, FreeAgrees) {
  const Finished finished =
      Boot({.script = "grep MemTotal /proc/meminfo", .options = {"-m", GetParam().option}});
  ExpectGoodRun(finished);
  const double total = std::stod("0" + Line(finished, "MemTotal")) / 1024;
  EXPECT_LE(total, GetParam().mebibytes);
  const double bounce_buffers = GetParam().mebibytes > 3072 ? 64 : 0;
  EXPECT_GE(total, GetParam().mebibytes * 0.975 - 48 - bounce_buffers)
      << Line(finished, "MemTotal");
}

INSTANTIATE_TEST_SUITE_P(, MemorySizes,
                         testing::Values(Memory{"m128", "128M", 128}, Memory{"m512", "512M", 512},
                                         Memory{"m3584", "3.5G", 3584}, Memory{"m4096", "4G", 4096},
                                         Memory{"m6144", "6G", 6144}),
                         [](const auto& size) { return std::string(size.param.name); });

// K-06: sizes are compared before the start.
TEST(TooLittleMemory, IsSaidPlainly) {
  for (const char* size : {"8M", "16M"}) {
    const Finished finished = Boot({.options = {"-m", size}});
    ExpectEnd(finished, 125, {"memory"});
    EXPECT_TRUE(finished.out.empty());
  }
}

// P-05: the guest probes nothing that is not there, and believes the tables. The brackets keep the
// pattern, which is part of the kernel line, from finding itself.
TEST(Platform, NothingIsProbedInVain) {
  const Finished finished =
      Boot({.script = "dmesg | grep -iE \"i8042: [p]robing|[b]roken|not [a]ccessible|[t]imed out|"
                      "MCFG.*[n]ot|IO-APIC [t]imer|ACPI.* [e]rror|[f]irmware bug\"",
            .options = {"-m", "256M", "-c", "2"}});
  ExpectEnd(finished, 0, {"powered off"});
  EXPECT_NE(finished.out.find("skiff-tiny: status 1"), std::string::npos)
      << "grep found something:\n"
      << finished.out;
}

TEST(Platform, ClockShowsTheRealTime) {
  const Finished finished =
      Boot({.script = "echo now=$(date +%s) rtc=$(cat /sys/class/rtc/rtc0/since_epoch)"});
  ExpectGoodRun(finished);
  const std::string line = Line(finished, "now");
  const double now = std::stod("0" + line);
  const size_t rtc_at = line.find("rtc=");
  ASSERT_NE(rtc_at, std::string::npos) << finished.out;
  EXPECT_NEAR(now, static_cast<double>(time(nullptr)), 30);
  EXPECT_NEAR(std::stod("0" + line.substr(rtc_at + 4)), now, 3);
}

}  // namespace
}  // namespace skiff::boot
