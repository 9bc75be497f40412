// Any legal framing works (B-06), and no illegal one does harm (B-01, B-05).

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <string>
#include <thread>
#include <vector>

#include "devices/virtio/blk/blk.h"
#include "tests/fakes/disk_rig.h"

namespace skiff::virtio {
namespace {

using fakes::DiskOutcome;
using fakes::DiskRig;
using fakes::DriverBuffer;

constexpr DiskOutcome kOk{kBlkStatusOk, 1};
constexpr DiskOutcome kIoErr{kBlkStatusIoErr, 1};

std::vector<std::byte> Pattern(size_t length) {
  std::vector<std::byte> bytes(length);
  for (size_t i = 0; i < length; ++i) bytes[i] = std::byte(static_cast<uint8_t>(i * 13 + 1));
  return bytes;
}

bool DiskStartsWith(const DiskRig& rig, const std::vector<std::byte>& bytes) {
  const auto disk = rig.disk->Bytes();
  return std::equal(bytes.begin(), bytes.end(), disk.begin());
}

// Cuts `bytes` at every place in `cuts`, each piece at an address of its own.
std::vector<DriverBuffer> Cut(DiskRig& rig, const std::vector<std::byte>& bytes,
                              const std::vector<size_t>& cuts, bool writable) {
  std::vector<DriverBuffer> pieces;
  size_t start = 0;
  std::vector<size_t> ends = cuts;
  ends.push_back(bytes.size());
  for (const size_t end : ends) {
    const auto piece = std::span(bytes).subspan(start, end - start);
    rig.ram.Allocate(32);
    const GuestAddr at = piece.empty() ? rig.ram.Allocate(1) : rig.ram.Place(piece);
    pieces.push_back({at, static_cast<uint32_t>(piece.size()), writable});
    start = end;
  }
  return pieces;
}

std::vector<std::byte> WriteRequest(const std::vector<std::byte>& data) {
  const BlkRequestHeader header{
      .type = static_cast<uint32_t>(BlkRequestType::kOut), .reserved = {}, .sector = {}};
  const auto bytes = std::as_bytes(std::span(&header, 1));
  std::vector<std::byte> all(bytes.begin(), bytes.end());
  all.insert(all.end(), data.begin(), data.end());
  return all;
}

struct Cuts {
  const char* name;
  std::vector<size_t> places;
};

// Of 16 bytes of header and 1024 of data.
const Cuts kWriteCuts[] = {
    {"One", {}},
    {"HeaderApart", {16}},
    {"HeaderInHalves", {8, 16}},
    {"HeaderByteByByte", {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16}},
    {"HeaderRunsIntoData", {100}},
    {"DataInOddPieces", {16, 17, 300, 301, 1039}},
    {"EmptyPieces", {16, 16, 500, 500}},
    {"SeventeenPieces",
     {16, 76, 136, 196, 256, 316, 376, 436, 496, 556, 616, 676, 736, 796, 856, 916, 976}},
};

class WriteFraming : public testing::TestWithParam<Cuts> {};

TEST_P(WriteFraming, ReachesTheDisk) {
  const auto data = Pattern(1024);
  for (const bool indirect : {false, true}) {
    DiskRig rig;
    auto buffers = Cut(rig, WriteRequest(data), GetParam().places, /*writable=*/false);
    buffers.push_back(rig.Status());
    EXPECT_EQ(indirect ? rig.RunIndirect(buffers) : rig.Run(buffers), kOk);
    EXPECT_TRUE(DiskStartsWith(rig, data));
  }
}

INSTANTIATE_TEST_SUITE_P(, WriteFraming, testing::ValuesIn(kWriteCuts),
                         [](const auto& tested) { return std::string(tested.param.name); });

// Of 1024 bytes of data and the status.
const Cuts kReadCuts[] = {
    {"StatusJoinedToData", {}},
    {"StatusApart", {1024}},
    {"StatusJoinedToTheLastByte", {1023}},
    {"OddPieces", {1, 2, 500, 1000}},
    {"EmptyPieceBeforeTheStatus", {512, 1024, 1024}},
    {"SeventeenPieces",
     {60, 120, 180, 240, 300, 360, 420, 480, 540, 600, 660, 720, 780, 840, 900, 960}},
};

class ReadFraming : public testing::TestWithParam<Cuts> {};

TEST_P(ReadFraming, ReachesTheGuest) {
  const auto data = Pattern(1024);
  for (const bool indirect : {false, true}) {
    DiskRig rig;
    rig.disk->SetBytes(0, data);
    auto buffers = Cut(rig, std::vector<std::byte>(1025), GetParam().places, /*writable=*/true);
    const std::vector<DriverBuffer> parts = buffers;
    buffers.insert(buffers.begin(), rig.Header(BlkRequestType::kIn, 0));
    EXPECT_EQ(indirect ? rig.RunIndirect(buffers) : rig.Run(buffers),
              (DiskOutcome{kBlkStatusOk, 1025}));
    std::vector<std::byte> got;
    for (const DriverBuffer& part : parts) {
      const auto piece = rig.ram.Read(part.address, part.length);
      got.insert(got.end(), piece.begin(), piece.end());
    }
    got.pop_back();
    EXPECT_EQ(got, data);
  }
}

INSTANTIATE_TEST_SUITE_P(, ReadFraming, testing::ValuesIn(kReadCuts),
                         [](const auto& tested) { return std::string(tested.param.name); });

TEST(Framing, LongestChainTheLimitAllows) {
  fakes::DiskRigOptions options;
  options.queue_size = 256;
  DiskRig rig(options);
  const auto data = Pattern(254 * 512);
  std::vector<DriverBuffer> buffers{rig.Header(BlkRequestType::kOut, 0)};
  for (size_t i = 0; i < rig.Config().seg_max; ++i)
    buffers.push_back({rig.ram.Place(std::span(data).subspan(i * 512, 512)), 512, false});
  buffers.push_back(rig.Status());
  EXPECT_EQ(rig.Run(buffers), kOk);
  EXPECT_TRUE(DiskStartsWith(rig, data));
  EXPECT_EQ(rig.RunIndirect(buffers), kOk);
}

// --- chains that are no requests ---

TEST(Framing, ChainWithoutAPlaceForTheStatusIsReturnedEmpty) {  // B-01
  DiskRig rig;
  const auto outcome = rig.Run({rig.Header(BlkRequestType::kIn, 0)});
  ASSERT_TRUE(outcome);
  EXPECT_EQ(outcome->length, 0U);
  EXPECT_EQ(rig.Read(0, rig.ram.Allocate(512), 512), (DiskOutcome{kBlkStatusOk, 513}));
}

TEST(Framing, ShortHeaderFails) {
  DiskRig rig;
  DriverBuffer header = rig.Header(BlkRequestType::kIn, 0);
  header.length = 15;
  EXPECT_EQ(rig.Run({header, {rig.ram.Allocate(512), 512, true}, rig.Status()}), kIoErr);
  EXPECT_EQ(rig.Run({rig.Status()}), kIoErr);
  EXPECT_EQ(rig.Flush(), kOk);
}

TEST(Framing, RequestsWithoutDataDoNothing) {
  DiskRig rig;
  EXPECT_EQ(rig.Run({rig.Header(BlkRequestType::kIn, 0), rig.Status()}), kOk);
  EXPECT_EQ(rig.Run({rig.Header(BlkRequestType::kOut, 0), rig.Status()}), kOk);
  EXPECT_TRUE(rig.disk->Events().empty());
}

TEST(Framing, DataPastTheEndOfMemoryFails) {  // B-05
  DiskRig rig;
  rig.disk->SetBytes(0, Pattern(512));
  const GuestAddr tail(rig.ram.end().value() - 512);
  const auto read = [&](GuestAddr at, uint32_t length) {
    return rig.Run({rig.Header(BlkRequestType::kIn, 0), {at, length, true}, rig.Status()});
  };
  EXPECT_EQ(read(tail + 1, 512), kIoErr);
  EXPECT_EQ(read(GuestAddr(~uint64_t{0} - 100), 512), kIoErr);
  EXPECT_EQ(read(GuestAddr(0), 512), kIoErr);
  EXPECT_EQ(rig.ram.Read(tail, 512), std::vector<std::byte>(512));
  EXPECT_TRUE(rig.disk->Events().empty());
  EXPECT_EQ(read(tail, 512), (DiskOutcome{kBlkStatusOk, 513}));
  EXPECT_EQ(rig.ram.Read(tail, 512), Pattern(512));
  EXPECT_FALSE(rig.needs_reset());
}

TEST(Framing, StatusOutsideMemoryIsAnsweredEmpty) {
  DiskRig rig;
  const auto outcome = rig.Run({rig.Header(BlkRequestType::kFlush, 0), {rig.ram.end(), 1, true}});
  ASSERT_TRUE(outcome);
  EXPECT_EQ(outcome->length, 0U);
  EXPECT_TRUE(rig.disk->Events().empty());
}

TEST(Framing, WriteBeforeReadFails) {
  DiskRig rig;
  const DriverBuffer status = rig.Status();
  rig.ram.Store(status.address, uint8_t{0xff});
  EXPECT_TRUE(rig.Run({status, rig.Header(BlkRequestType::kFlush, 0)}));
  EXPECT_EQ(rig.ram.Load<uint8_t>(status.address), kBlkStatusIoErr);
  EXPECT_TRUE(rig.disk->Events().empty());
}

TEST(Framing, LoopNeedsResetAndResetHeals) {
  DiskRig rig;
  const DriverBuffer header = rig.Header(BlkRequestType::kIn, 0);
  rig.queue().SetDescriptor(0, {.addr = header.address.value(),
                                .len = header.length,
                                .flags = kDescNext,
                                .next = uint16_t{0}});
  rig.queue().Offer(0);
  rig.Kick();
  EXPECT_FALSE(rig.WaitForAnswer());
  EXPECT_TRUE(rig.needs_reset());
  EXPECT_EQ(rig.interrupts.config_interrupts(), 1U);
  rig.Restart();
  EXPECT_EQ(rig.Flush(), kOk);
}

// B-05: another vCPU flips the length between a sound and a wild value all the time. Whatever the
// device sees, it sees once: the request works on exactly 512 bytes or fails.
TEST(Framing, LengthThatChangesMeanwhile) {
  DiskRig rig;
  const GuestAddr data = rig.ram.Allocate(4096);
  // Two words far apart would tear; length, flags and next are one.
  struct Tail {
    Le32 len;
    Le16 flags;
    Le16 next;
  };
  std::atomic<bool> stop = false;
  std::atomic<uint64_t> flipped = 0;
  const GuestAddr place = rig.queue().DescriptorAddress(1) + 8;
  std::thread other([&] {
    const Tail sound{.len = 512U, .flags = kDescNext | kDescWrite, .next = uint16_t{2}};
    const Tail wild{.len = 0xfffffe00U, .flags = kDescNext | kDescWrite, .next = uint16_t{2}};
    while (!stop.load()) {
      rig.ram.Store(place, std::bit_cast<uint64_t>(flipped.fetch_add(1) % 2 == 0 ? sound : wild));
    }
  });
  const DriverBuffer header = rig.Header(BlkRequestType::kIn, 0);
  const DriverBuffer status = rig.Status();
  rig.queue().SetDescriptor(
      0, {.addr = header.address.value(), .len = 16U, .flags = kDescNext, .next = uint16_t{1}});
  // The address alone: the other thread keeps writing the rest.
  rig.ram.Store(rig.queue().DescriptorAddress(1), uint64_t{data.value()});
  rig.queue().SetDescriptor(
      2, {.addr = status.address.value(), .len = 1U, .flags = kDescWrite, .next = {}});
  while (flipped.load() == 0) std::this_thread::yield();
  int good = 0;
  for (int i = 0; i < 2000; ++i) {
    rig.queue().Offer(0);
    rig.Kick();
    const auto used = rig.WaitForAnswer();
    ASSERT_TRUE(used);
    const auto code = rig.ram.Load<uint8_t>(status.address);
    const bool exact = code == kBlkStatusOk && used->length == 513;
    const bool failed = code == kBlkStatusIoErr && used->length == 1;
    ASSERT_TRUE(exact || failed) << int{code} << " " << used->length;
    good += exact ? 1 : 0;
  }
  stop = true;
  other.join();
  for (const auto& event : rig.disk->Events()) EXPECT_EQ(event.length, 512U);
  EXPECT_EQ(rig.disk->Events().size(), static_cast<size_t>(good));
}

}  // namespace
}  // namespace skiff::virtio
