#include "disk/tool/io/disk.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

#include "disk/tool/io/buffer.h"
#include "tests/fakes/memory_disk.h"

namespace skiff::io {
namespace {

using fakes::MemoryDisk;
using fakes::MemoryDiskState;

constexpr uint64_t kSize = 64 * 1024;

struct Rig {
  explicit Rig(BlockLimits limits = MemoryDisk::DefaultLimits(kSize))
      : state(std::make_shared<MemoryDiskState>(kSize)),
        disk(Disk::Make(std::make_unique<MemoryDisk>(state, limits)).value()) {}

  Result<void> Perform(BlockOp op, uint64_t at, uint64_t length, Buffer* buffer = nullptr) {
    Transfer transfer;
    transfer.op = op;
    transfer.at = at;
    transfer.length = length;
    if (buffer != nullptr) transfer.buffers = buffer->pieces();
    return disk->Perform(transfer);
  }

  std::shared_ptr<MemoryDiskState> state;
  std::unique_ptr<Disk> disk;
};

Buffer Filled(uint64_t length, uint8_t pattern) {
  const uint64_t lengths[] = {length / 3, length - length / 3};
  Buffer buffer(lengths, Placement::kMisaligned);
  buffer.Fill(std::byte{pattern});
  return buffer;
}

TEST(Disk, ChangesExactlyTheBytesThatItIsTold) {
  BlockLimits limits = MemoryDisk::DefaultLimits(kSize);
  limits.max_zero_length = 1536;
  Rig rig(limits);
  std::vector<std::byte> model(kSize);
  std::mt19937 random(1);
  for (int i = 0; i < 500; ++i) {
    const uint64_t at = random() % kSize;
    const uint64_t length = 1 + random() % std::min<uint64_t>(kSize - at, 5000);
    const auto pattern = static_cast<uint8_t>(random());
    const auto part = std::span(model).subspan(at, length);
    Buffer buffer = Filled(length, pattern);
    switch (random() % 3) {
      case 0:
        ASSERT_TRUE(rig.Perform(BlockOp::kWrite, at, length, &buffer).ok());
        std::fill(part.begin(), part.end(), std::byte{pattern});
        break;
      case 1:
        ASSERT_TRUE(rig.Perform(BlockOp::kWriteZeroes, at, length).ok());
        std::fill(part.begin(), part.end(), std::byte{0});
        break;
      default:
        ASSERT_TRUE(rig.Perform(BlockOp::kRead, at, length, &buffer).ok());
        ASSERT_TRUE(std::equal(part.begin(), part.end(), buffer.bytes().begin()));
    }
  }
  EXPECT_EQ(rig.state->Bytes(), model);
}

TEST(Disk, DiscardsWholeBlocksOnlyAndInAsManyPartsAsItTakes) {
  BlockLimits limits = MemoryDisk::DefaultLimits(kSize);
  limits.max_discard = 1024;
  Rig rig(limits);
  ASSERT_TRUE(rig.Perform(BlockOp::kDiscard, 1, 2048).ok());
  ASSERT_TRUE(rig.Perform(BlockOp::kDiscard, 1, 100).ok());
  const auto events = rig.state->Events();
  ASSERT_EQ(events.size(), 2u);
  EXPECT_EQ(events[0].start, 512u);
  EXPECT_EQ(events[0].length, 1024u);
  EXPECT_EQ(events[1].start, 1536u);
  EXPECT_EQ(events[1].length, 512u);
}

TEST(Disk, WritesZeroesWhereThereIsNoOtherWayAndForgetsDiscards) {
  BlockLimits limits = MemoryDisk::DefaultLimits(kSize);
  limits.max_zero_length = 0;
  limits.max_discard = 0;
  Rig rig(limits);
  Buffer ones = Filled(kSize, 1);
  ASSERT_TRUE(rig.Perform(BlockOp::kWrite, 0, kSize, &ones).ok());
  ASSERT_TRUE(rig.Perform(BlockOp::kDiscard, 0, kSize).ok());
  ASSERT_TRUE(rig.Perform(BlockOp::kWriteZeroes, 100, 1000).ok());
  const std::vector<std::byte> bytes = rig.state->Bytes();
  EXPECT_TRUE(AllAre(std::span(bytes).first(100), std::byte{1}));
  EXPECT_TRUE(AllAre(std::span(bytes).subspan(100, 1000), std::byte{0}));
  EXPECT_TRUE(AllAre(std::span(bytes).subspan(1100), std::byte{1}));
}

TEST(Disk, RefusesWhatIsNotOnIt) {
  Rig rig;
  Buffer buffer = Filled(512, 0);
  const std::pair<uint64_t, uint64_t> places[] = {
      {kSize, 512}, {kSize - 1, 512}, {kSize + 1, 0}, {UINT64_MAX, 512}};
  for (const auto& [at, length] : places) {
    const Result<void> read = rig.Perform(BlockOp::kRead, at, length, &buffer);
    ASSERT_FALSE(read.ok());
    EXPECT_EQ(read.error().code(), ErrorCode::kOutOfRange);
  }
  EXPECT_TRUE(rig.Perform(BlockOp::kRead, kSize, 0).ok());
}

TEST(Disk, TellsWhatWasStartedInLaterCalls) {
  Rig rig;
  rig.state->Hold();
  std::vector<int> told;
  Buffer buffers[] = {Filled(512, 7), Filled(512, 7), Filled(100, 7)};
  const uint64_t places[] = {0, kSize, 1000};
  for (int n = 0; n < 2; ++n) {
    Transfer write;
    write.op = BlockOp::kWrite;
    write.at = places[n];
    write.length = 512;
    write.buffers = buffers[n].pieces();
    rig.disk->Start(write, [&told, n](const Result<void>& done) {
      EXPECT_EQ(done.ok(), n == 0);
      told.push_back(n);
    });
  }
  EXPECT_TRUE(told.empty());
  rig.disk->Poll();
  EXPECT_EQ(told, std::vector<int>{1});
  rig.state->Release();
  // What waits tells the others on its way.
  ASSERT_TRUE(rig.Perform(BlockOp::kWrite, 1000, 100, &buffers[2]).ok());
  rig.disk->Drain();
  EXPECT_EQ(told, (std::vector<int>{1, 0}));
}

TEST(Disk, FailsAsTheQueueDoes) {
  Rig rig;
  rig.state->Fail(BlockOp::kFlush, ErrorCode::kNoSpace);
  const Result<void> flushed = rig.Perform(BlockOp::kFlush, 0, 0);
  ASSERT_FALSE(flushed.ok());
  EXPECT_EQ(flushed.error().code(), ErrorCode::kNoSpace);
  EXPECT_TRUE(rig.disk->Close().ok());
}

}  // namespace
}  // namespace skiff::io
