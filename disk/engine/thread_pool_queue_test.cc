#include "disk/engine/thread_pool_queue.h"

#include <gtest/gtest.h>
#include <poll.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <thread>
#include <vector>

#include "base/arith.h"
#include "disk/engine/backend.h"
#include "disk/raw/raw_image.h"
#include "tests/fakes/faulty_file.h"
#include "tests/fakes/lent_file.h"
#include "tests/fakes/memory_file.h"
#include "tests/fakes/slow_file.h"

namespace skiff {
namespace {

using fakes::FaultyFile;
using fakes::FileOp;
using fakes::MemoryFile;
using fakes::SlowFile;

bool Readable(int fd, int timeout_ms = 0) {
  pollfd ready{fd, POLLIN, 0};
  return poll(&ready, 1, timeout_ms) == 1;
}

// A request with a buffer of one sector.
struct SectorIo {
  BlockRequest request;
  std::array<std::byte, 512> bytes{};
  iovec buffer{};

  BlockRequest& Make(BlockOp op, uint64_t sector) {
    buffer = {bytes.data(), bytes.size()};
    request = {};
    request.op = op;
    request.cookie = this;
    if (op == BlockOp::kFlush) return request;
    request.range = DiskRange::Make(DiskOffset(sector * 512), 512).value();
    request.buffers = {&buffer, 1};
    return request;
  }
};

// A raw disk over files that can be slow and fail.
class Disk {
 public:
  explicit Disk(uint32_t threads, uint64_t size = 1 * kMiB)
      : memory_(size), faulty_(memory_), pool_(MakePool(threads)) {
    auto slow = std::make_unique<SlowFile>(faulty_);
    slow_ = slow.get();
    auto image = RawImage::Open(std::move(slow)).value();
    backend_ = ThreadPoolBackend::Make(std::move(image), pool_.get(), false).value();
  }
  std::unique_ptr<BlockQueue> Queue() { return backend_->OpenQueue(256).value(); }
  SlowFile& slow() { return *slow_; }
  FaultyFile& faulty() { return faulty_; }
  MemoryFile& memory() { return memory_; }

 private:
  static std::unique_ptr<ThreadPool> MakePool(uint32_t threads) {
    ThreadPool::Options options;
    options.max_threads = threads;
    return ThreadPool::Make(options).value();
  }
  MemoryFile memory_;
  FaultyFile faulty_;
  SlowFile* slow_ = nullptr;
  std::unique_ptr<ThreadPool> pool_;
  std::unique_ptr<BlockBackend> backend_;
};

std::vector<BlockRequest*> ReapAll(BlockQueue& queue, size_t count) {
  std::vector<BlockRequest*> reaped;
  while (reaped.size() < count && Readable(queue.completion_event(), 30'000)) {
    while (BlockRequest* const request = queue.Reap()) reaped.push_back(request);
  }
  return reaped;
}

// B-18: far more requests than threads, from several queues at once.
TEST(ThreadPoolQueue, NoCompletionIsLostWithOneWorker) {
  Disk disk(1);
  static constexpr size_t kDepth = 256;
  static constexpr int kRounds = 4;
  std::vector<std::thread> devices;
  for (uint64_t q = 0; q < 4; ++q) {
    devices.emplace_back([&disk, q] {
      const auto queue = disk.Queue();
      std::vector<SectorIo> ios(kDepth);
      for (int round = 0; round < kRounds; ++round) {
        const BlockOp op = round % 2 == 0 ? BlockOp::kWrite : BlockOp::kRead;
        for (size_t i = 0; i < kDepth; ++i) {
          if (op == BlockOp::kWrite)
            ios[i].bytes.fill(static_cast<std::byte>(q * 64 + i % 61));
          else
            ios[i].bytes.fill(std::byte{0});
          queue->Submit(ios[i].Make(op, q * kDepth + i));
          if (i % 7 == 0) queue->Kick();
        }
        queue->Kick();
        std::vector<BlockRequest*> reaped = ReapAll(*queue, kDepth);
        ASSERT_EQ(reaped.size(), kDepth);
        std::sort(reaped.begin(), reaped.end());
        ASSERT_EQ(std::unique(reaped.begin(), reaped.end()), reaped.end());
        for (size_t i = 0; i < kDepth; ++i) {
          ASSERT_TRUE(ios[i].request.outcome.ok());
          ASSERT_EQ(ios[i].bytes[511], static_cast<std::byte>(q * 64 + i % 61));
        }
      }
    });
  }
  for (std::thread& device : devices) device.join();
}

TEST(ThreadPoolQueue, DestructorWaitsForWhatIsInFlight) {
  Disk disk(2);
  std::vector<SectorIo> ios(8);
  disk.slow().CloseGate();
  auto queue = disk.Queue();
  for (size_t i = 0; i < ios.size(); ++i) {
    ios[i].bytes.fill(std::byte{1});
    queue->Submit(ios[i].Make(BlockOp::kWrite, i));
    if (i == 5) queue->Kick();  // the last two stay in the batch
  }
  disk.slow().AwaitWaiting(2);
  std::atomic<bool> gone = false;
  std::thread destroyer([&] {
    queue.reset();
    gone = true;
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  EXPECT_FALSE(gone);
  disk.slow().OpenGate();
  destroyer.join();
  const std::vector<std::byte> content = disk.memory().Bytes();
  for (size_t i = 0; i < ios.size(); ++i) EXPECT_EQ(content[i * 512], std::byte{1}) << i;
}

// The flush is submitted when one write is done and another is not: at its sync the first must be
// in the file, and it may not wait for the second.
TEST(ThreadPoolQueue, AFlushCoversWhatCompletedBeforeItAndWaitsForNothingElse) {
  Disk disk(4);
  const auto queue = disk.Queue();
  SectorIo done;
  done.bytes.fill(std::byte{1});
  queue->Submit(done.Make(BlockOp::kWrite, 0));
  queue->Kick();
  ASSERT_EQ(ReapAll(*queue, 1).size(), 1u);

  disk.slow().CloseGate();
  SectorIo stuck;
  queue->Submit(stuck.Make(BlockOp::kWrite, 1));
  queue->Kick();
  disk.slow().AwaitWaiting(1);
  SectorIo flush;
  queue->Submit(flush.Make(BlockOp::kFlush, 0));
  queue->Kick();
  disk.slow().AwaitWaiting(2);
  EXPECT_EQ(disk.faulty().Calls(FileOp::kSync), 0u);
  EXPECT_EQ(disk.memory().Bytes()[0], std::byte{1});
  EXPECT_EQ(queue->Reap(), nullptr);
  disk.slow().OpenGate();
  EXPECT_EQ(ReapAll(*queue, 2).size(), 2u);
  EXPECT_EQ(disk.faulty().Calls(FileOp::kSync), 1u);
}

TEST(ThreadPoolQueue, ErrorsComeBackWithTheirRequest) {
  Disk disk(1);
  const auto queue = disk.Queue();
  SectorIo bad;
  SectorIo good;
  disk.faulty().Fail(FileOp::kWrite, ENOSPC);
  queue->Submit(bad.Make(BlockOp::kWrite, 0));
  queue->Kick();
  ASSERT_EQ(ReapAll(*queue, 1).size(), 1u);
  ASSERT_FALSE(bad.request.outcome.ok());
  EXPECT_EQ(bad.request.outcome.error().code(), ErrorCode::kNoSpace);
  queue->Submit(good.Make(BlockOp::kWrite, 0));
  queue->Kick();
  ASSERT_EQ(ReapAll(*queue, 1).size(), 1u);
  EXPECT_TRUE(good.request.outcome.ok());
}

TEST(ThreadPoolQueue, BrokenRequestsCompleteWithAnErrorAndTouchNothing) {
  Disk disk(1, 4096);
  const auto queue = disk.Queue();
  SectorIo past_end;
  queue->Submit(past_end.Make(BlockOp::kWrite, 8));
  EXPECT_FALSE(Readable(queue->completion_event()));
  queue->Kick();
  ASSERT_EQ(ReapAll(*queue, 1).size(), 1u);
  EXPECT_EQ(past_end.request.outcome.error().code(), ErrorCode::kOutOfRange);
  EXPECT_EQ(disk.faulty().Calls(FileOp::kWrite), 0u);
  EXPECT_EQ(disk.memory().size(), 4096u);
}

// A disk whose file never waits.
struct CachedDisk {
  CachedDisk() : pool(ThreadPool::Make().value()) {
    auto owned = std::make_unique<MemoryFile>(1 * kMiB);
    memory = owned.get();
    memory->SetNeverWaits(true);
    image = RawImage::Open(std::move(owned)).value();
    queue = ThreadPoolQueue::Make(BlockingExecutor(*image, false), *pool).value();
  }
  std::unique_ptr<ThreadPool> pool;
  MemoryFile* memory;
  std::unique_ptr<RawImage> image;
  std::unique_ptr<BlockQueue> queue;
};

TEST(ThreadPoolQueue, CachedTransfersAreDoneInsideSubmit) {
  CachedDisk disk;
  SectorIo write;
  write.bytes.fill(std::byte{4});
  disk.queue->Submit(write.Make(BlockOp::kWrite, 3));
  SectorIo read;
  disk.queue->Submit(read.Make(BlockOp::kRead, 3));
  EXPECT_EQ(read.bytes[0], std::byte{4});
  EXPECT_EQ(disk.queue->Reap(), &write.request);
  EXPECT_EQ(disk.queue->Reap(), &read.request);
  EXPECT_EQ(disk.queue->Reap(), nullptr);
  disk.queue->Kick();
  EXPECT_FALSE(Readable(disk.queue->completion_event()));  // nothing left to wake anybody for
}

TEST(ThreadPoolQueue, WhatWasDoneAtOnceIsAnnouncedByKick) {
  CachedDisk disk;
  for (int round = 0; round < 3; ++round) {
    SectorIo read;
    disk.queue->Submit(read.Make(BlockOp::kRead, 0));
    EXPECT_FALSE(Readable(disk.queue->completion_event()));
    disk.queue->Kick();
    EXPECT_TRUE(Readable(disk.queue->completion_event()));
    EXPECT_EQ(disk.queue->Reap(), &read.request);
    EXPECT_EQ(disk.queue->Reap(), nullptr);
    EXPECT_FALSE(Readable(disk.queue->completion_event()));
  }
}

TEST(ThreadPoolQueue, LongTransfersAreLeftToThreads) {
  CachedDisk disk;
  std::vector<std::byte> bytes(512 * kKiB);
  const iovec buffer{bytes.data(), bytes.size()};
  BlockRequest read;
  read.op = BlockOp::kRead;
  read.range = DiskRange::Make(DiskOffset(0), bytes.size()).value();
  read.buffers = {&buffer, 1};
  disk.queue->Submit(read);
  EXPECT_EQ(disk.queue->Reap(), nullptr);
  disk.queue->Kick();
  EXPECT_EQ(ReapAll(*disk.queue, 1).size(), 1u);
}

TEST(ThreadPoolBackend, ReportsWriteThroughAndChecksStatusRanges) {
  auto image = RawImage::Open(std::make_unique<MemoryFile>(8192)).value();
  const auto disk = ThreadPoolBackend::Make(std::move(image), nullptr, true).value();
  EXPECT_FALSE(disk->limits().volatile_cache);
  EXPECT_TRUE(disk->Status(DiskRange::Make(DiskOffset(0), 8192).value()).ok());
  EXPECT_TRUE(disk->Status(DiskRange::Make(DiskOffset(8192), 0).value()).ok());
  EXPECT_FALSE(disk->Status(DiskRange::Make(DiskOffset(4096), 8192).value()).ok());
}

TEST(ThreadPoolBackend, ClosesOnceAndTellsWhetherItFailed) {
  MemoryFile memory(8192);
  FaultyFile faulty(memory);
  auto image = RawImage::Open(std::make_unique<fakes::LentFile>(faulty)).value();
  const auto disk = ThreadPoolBackend::Make(std::move(image), nullptr, false).value();
  faulty.Fail(FileOp::kSync, EIO);
  EXPECT_FALSE(disk->Close().ok());
  EXPECT_TRUE(disk->Close().ok());
}

}  // namespace
}  // namespace skiff
