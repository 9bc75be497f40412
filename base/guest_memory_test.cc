#include "base/guest_memory.h"

#include <gtest/gtest.h>

#include <array>
#include <cstring>

#include "base/arith.h"

namespace skiff {
namespace {

GuestRange At(uint64_t start, uint64_t length) {
  return GuestRange::Make(GuestAddr(start), length).value();
}

GuestMemory LowAndHigh() {
  const std::array ranges = {At(0, 4 * kMiB), At(4 * kGiB, 2 * kMiB)};
  return std::move(GuestMemory::Allocate(ranges)).value();
}

TEST(GuestMemory, ReadsBackWhatWasWrittenInBothRegions) {
  const GuestMemory memory = LowAndHigh();
  ASSERT_TRUE(memory.Write<uint32_t>(GuestAddr(0x1001), 0x12345678).ok());
  ASSERT_TRUE(memory.Write<uint64_t>(GuestAddr(4 * kGiB), 42).ok());
  EXPECT_EQ(memory.Read<uint32_t>(GuestAddr(0x1001)).value(), 0x12345678u);
  EXPECT_EQ(memory.Read<uint64_t>(GuestAddr(4 * kGiB)).value(), 42u);
}

TEST(GuestMemory, RefusesWhatLeavesARegion) {
  const GuestMemory memory = LowAndHigh();
  EXPECT_TRUE(memory.At(At(4 * kMiB - 8, 8)).ok());
  EXPECT_FALSE(memory.At(At(4 * kMiB - 8, 9)).ok());
  EXPECT_FALSE(memory.At(At(5 * kMiB, 1)).ok());
  EXPECT_FALSE(memory.Read<uint64_t>(GuestAddr(~uint64_t{0} - 3)).ok());
}

TEST(GuestMemory, HostAndGuestAgreeModuloHugePages) {
  const GuestMemory memory = LowAndHigh();
  for (const GuestMemory::Region& region : memory.regions())
    EXPECT_EQ(reinterpret_cast<uintptr_t>(region.host) % (2 * kMiB),
              region.range.start().value() % (2 * kMiB));
}

TEST(GuestMemory, RefusesOverlappingAndUnalignedRegions) {
  const std::array overlapping = {At(0, 2 * kMiB), At(kMiB, kMiB)};
  EXPECT_FALSE(GuestMemory::Allocate(overlapping).ok());
  const std::array unaligned = {At(0, 100)};
  EXPECT_FALSE(GuestMemory::Allocate(unaligned).ok());
}

TEST(GuestMemory, IndexNeedsAnEvenAddressInsideMemory) {
  const GuestMemory memory = LowAndHigh();
  EXPECT_FALSE(memory.IndexAt(GuestAddr(3)).ok());
  EXPECT_FALSE(memory.IndexAt(GuestAddr(4 * kMiB)).ok());
  const GuestIndex index = memory.IndexAt(GuestAddr(2)).value();
  index.StoreRelease(0xabcd);
  EXPECT_EQ(memory.Read<uint16_t>(GuestAddr(2)).value(), 0xabcd);
}

TEST(GuestSpan, SubspanChecksWithoutWrapping) {
  const GuestMemory memory = LowAndHigh();
  const GuestSpan span = memory.At(At(0, 100)).value();
  EXPECT_TRUE(span.Subspan(100, 0).ok());
  EXPECT_FALSE(span.Subspan(101, 0).ok());
  EXPECT_FALSE(span.Subspan(50, SIZE_MAX).ok());
}

}  // namespace
}  // namespace skiff
