#include "arch/x86_64/boot/e820.h"

#include <gtest/gtest.h>

#include "arch/x86_64/boot/test_images.h"

namespace skiff::x86_64 {
namespace {

using testing_images::At;
using testing_images::MakePlatform;

class MemoryMapOf : public testing::TestWithParam<uint64_t> {
 protected:
  const uint64_t bytes_ = GetParam() * kMiB;
  const Platform platform_ = MakePlatform(bytes_);
  const std::vector<E820Entry> map_ = MemoryMap(platform_);
};

TEST_P(MemoryMapOf, IsSortedAndDisjoint) {
  for (size_t i = 1; i < map_.size(); ++i) {
    EXPECT_LE(map_[i - 1].range.end(), map_[i].range.start());
    EXPECT_FALSE(map_[i].range.empty());
  }
}

TEST_P(MemoryMapOf, HasAllRamButTheBiosArea) {
  uint64_t ram = 0;
  for (const E820Entry& entry : map_) {
    if (entry.type != E820Type::kRam) continue;
    ram += entry.range.length();
    EXPECT_TRUE(platform_.low_ram.Contains(entry.range) ||
                platform_.high_ram.Contains(entry.range));
    EXPECT_FALSE(entry.range.Overlaps(At(3 * kGiB, kGiB)));  // the hole for devices
    EXPECT_FALSE(entry.range.Overlaps(At(0x9fc00, 0x100000 - 0x9fc00)));
  }
  EXPECT_EQ(ram, bytes_ - (0x100000 - 0x9fc00));
}

TEST_P(MemoryMapOf, ReservesTablesEcamAndKvmsPages) {
  for (const GuestRange& range : {At(0xe0000, 0x20000), platform_.ecam, platform_.kvm_pages}) {
    int covered = 0;
    for (const E820Entry& entry : map_) {
      covered += entry.type == E820Type::kReserved && entry.range.Contains(range);
    }
    EXPECT_EQ(covered, 1);
  }
}

TEST_P(MemoryMapOf, KeepsPageZeroUsable) {
  EXPECT_EQ(map_.front().type, E820Type::kRam);
  EXPECT_TRUE(map_.front().range.Contains(At(0, 4096)));
}

INSTANTIATE_TEST_SUITE_P(MiB, MemoryMapOf,
                         testing::Values(2, 128, 512, 2048, 3071, 3072, 3073, 3584, 4096, 6144,
                                         16384),
                         testing::PrintToStringParamName());

}  // namespace
}  // namespace skiff::x86_64
