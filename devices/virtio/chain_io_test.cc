#include "devices/virtio/chain_io.h"

#include <gtest/gtest.h>

#include <array>
#include <numeric>
#include <vector>

#include "tests/fakes/guest_ram.h"

namespace skiff::virtio {
namespace {

// Bytes 0, 1, 2, ... cut into pieces that lie far apart.
class ChainIo : public testing::Test {
 protected:
  std::vector<GuestSpan> Cut(const std::vector<size_t>& lengths) {
    std::vector<GuestSpan> pieces;
    uint8_t value = 0;
    for (const size_t length : lengths) {
      std::vector<std::byte> bytes(length);
      for (std::byte& byte : bytes) byte = std::byte{value++};
      const GuestAddr at = ram_.Place(bytes);
      ram_.Allocate(100);
      pieces.push_back(ram_.memory().At(GuestRange::Make(at, length).value()).value());
    }
    return pieces;
  }
  fakes::GuestRam ram_;
};

TEST_F(ChainIo, ReadsAcrossEveryCut) {
  for (size_t cut = 0; cut <= 16; ++cut) {
    const auto pieces = Cut({cut, 16 - cut, 8});
    std::array<uint8_t, 20> copy{};
    EXPECT_EQ(CopyOut(pieces, 3, std::as_writable_bytes(std::span(copy))), 20U);
    for (uint8_t i = 0; i < copy.size(); ++i) EXPECT_EQ(copy[i], i + 3) << cut;
  }
}

TEST_F(ChainIo, StopsAtTheEnd) {
  const auto pieces = Cut({4, 4});
  std::array<std::byte, 16> copy{};
  EXPECT_EQ(CopyOut(pieces, 6, copy), 2U);
  EXPECT_EQ(CopyOut(pieces, 8, copy), 0U);
  EXPECT_EQ(CopyOut(pieces, UINT64_MAX, copy), 0U);
  EXPECT_FALSE(ReadAt<uint64_t>(pieces, 1).has_value());
  EXPECT_TRUE(ReadAt<uint64_t>(pieces, 0).has_value());
}

TEST_F(ChainIo, FillsAcrossCuts) {
  const auto pieces = Cut({1, 1, 6});
  const std::array<std::byte, 4> bytes{std::byte{9}, std::byte{8}, std::byte{7}, std::byte{6}};
  EXPECT_EQ(CopyIn(pieces, 1, bytes), 4U);
  std::array<uint8_t, 8> copy{};
  CopyOut(pieces, 0, std::as_writable_bytes(std::span(copy)));
  EXPECT_EQ(copy, (std::array<uint8_t, 8>{0, 9, 8, 7, 6, 5, 6, 7}));
}

TEST_F(ChainIo, DescribesExactlyTheAskedBytes) {
  const auto pieces = Cut({5, 3, 8});
  std::array<iovec, 3> out{};
  ASSERT_EQ(DescribeForKernel(pieces, 4, 5, out), 3U);
  EXPECT_EQ(out[0].iov_len, 1U);
  EXPECT_EQ(out[1].iov_len, 3U);
  EXPECT_EQ(out[2].iov_len, 1U);
  EXPECT_EQ(*static_cast<uint8_t*>(out[0].iov_base), 4);
  EXPECT_EQ(*static_cast<uint8_t*>(out[2].iov_base), 8);
  EXPECT_EQ(DescribeForKernel(pieces, 5, 3, out), 1U);
  EXPECT_EQ(DescribeForKernel(pieces, 0, 0, out), 0U);
}

TEST_F(ChainIo, LastByteIsTheLastOne) {
  EXPECT_FALSE(LastByte({}).has_value());
  const auto pieces = Cut({5, 3});
  std::array<uint8_t, 1> copy{};
  LastByte(pieces)->CopyTo(std::as_writable_bytes(std::span(copy)));
  EXPECT_EQ(copy[0], 7);
}

}  // namespace
}  // namespace skiff::virtio
