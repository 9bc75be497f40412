#include "arch/x86_64/layout.h"

#include <gtest/gtest.h>

#include "arch/x86_64/boot/low_memory.h"

namespace skiff::x86_64 {
namespace {

struct Case {
  const char* name;
  uint64_t bytes;
  uint64_t low;
  uint64_t high;
};

class RamAroundTheHole : public testing::TestWithParam<Case> {};

TEST_P(RamAroundTheHole, IsSplitAtThreeGiB) {
  const Case& c = GetParam();
  const auto ranges = RamRanges(c.bytes);
  ASSERT_TRUE(ranges.ok());
  ASSERT_EQ(ranges->size(), c.high == 0 ? 1u : 2u);
  EXPECT_EQ((*ranges)[0].start(), GuestAddr(0));
  EXPECT_EQ((*ranges)[0].length(), c.low);
  if (c.high == 0) return;
  EXPECT_EQ((*ranges)[1].start(), GuestAddr(4 * kGiB));
  EXPECT_EQ((*ranges)[1].length(), c.high);
}

INSTANTIATE_TEST_SUITE_P(, RamAroundTheHole,
                         testing::Values(Case{"Small", 128 * kMiB, 128 * kMiB, 0},
                                         Case{"Odd", 1025 * kMiB, 1025 * kMiB, 0},
                                         Case{"JustFits", 3 * kGiB, 3 * kGiB, 0},
                                         Case{"OneMore", 3 * kGiB + kMiB, 3 * kGiB, kMiB},
                                         Case{"Half", 3584 * kMiB, 3 * kGiB, 512 * kMiB},
                                         Case{"Six", 6 * kGiB, 3 * kGiB, 3 * kGiB},
                                         Case{"Huge", 16384 * kGiB, 3 * kGiB, 16381 * kGiB}),
                         [](const auto& row) { return std::string(row.param.name); });

TEST(RamRanges, RefusesWhatNoMachineCanHave) {
  for (const uint64_t bytes :
       {uint64_t{0}, kMiB - 1, kMiB + 4096, ~uint64_t{0}, ~uint64_t{0} << 20, uint64_t{1} << 52}) {
    const auto ranges = RamRanges(bytes);
    ASSERT_FALSE(ranges.ok()) << bytes;
    EXPECT_EQ(ranges.error().code(), ErrorCode::kInvalid);
  }
  EXPECT_TRUE(RamRanges((uint64_t{1} << 52) - kGiB).ok());
}

// What the boot code places and what we place in low memory must not meet.
TEST(Layout, LowMemoryIsDisjoint) {
  const uint64_t boot_info_end = kBootInfo.value() + kBootInfoBytes;
  EXPECT_LE(kGdtAddress + 0x1000, kBootInfo.value());
  EXPECT_LE(boot_info_end, kPageTablesAddress);
  EXPECT_LE(kPageTablesEnd, kCommandLine.value());
  EXPECT_LE(kCommandLine.value() + kCommandLineBytes, kEndOfConventionalMemory.value());
}

}  // namespace
}  // namespace skiff::x86_64
