#include "arch/loader/initrd.h"

#include <gtest/gtest.h>

#include <vector>

namespace skiff {
namespace {

GuestRange At(uint64_t start, uint64_t length) {
  return GuestRange::Make(GuestAddr(start), length).value();
}

TEST(PlaceInitrd, TakesTheTopOfTheFirstRoomThatIsLargeEnough) {
  const std::vector rooms = {At(0x10000, 0x1000), At(0x20000, 0x8000), At(0x40000, 0x80000)};
  EXPECT_EQ(PlaceInitrd(0x1000, rooms)->start(), GuestAddr(0x10000));
  EXPECT_EQ(PlaceInitrd(0x1001, rooms)->start(), GuestAddr(0x26000));
  EXPECT_EQ(PlaceInitrd(0x8001, rooms)->start(), GuestAddr(0xb7000));
  EXPECT_FALSE(PlaceInitrd(0x80001, rooms).has_value());
}

TEST(PlaceInitrd, AlignmentNeverLeavesTheRoom) {
  EXPECT_FALSE(PlaceInitrd(0x1000, std::vector{At(0x10001, 0x1fff - 1)}).has_value());
  EXPECT_EQ(PlaceInitrd(0x1000, std::vector{At(0x10001, 0x1fff)})->start(), GuestAddr(0x11000));
  EXPECT_FALSE(PlaceInitrd(1, std::vector{At(0x10001, 0xffe)}).has_value());
}

TEST(PlaceInitrd, AbsurdSizesHaveNoPlace) {
  EXPECT_FALSE(PlaceInitrd(UINT64_MAX, std::vector{At(0, 0x100000)}).has_value());
  EXPECT_FALSE(PlaceInitrd(1, {}).has_value());
}

}  // namespace
}  // namespace skiff
