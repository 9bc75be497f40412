// Random 4 KiB reads and writes of a file that lies in the page cache: plain system calls beside a
// ThreadPoolQueue at depths 1 and 32, with and without doing them at once.

#include <benchmark/benchmark.h>
#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <cstdlib>
#include <random>
#include <string>
#include <vector>

#include "base/arith.h"
#include "disk/engine/thread_pool_queue.h"
#include "disk/posix_file.h"
#include "disk/raw/raw_image.h"

namespace skiff {
namespace {

constexpr uint64_t kFileBytes = 256 * kMiB;
constexpr uint64_t kBlock = 4 * kKiB;

// A file of `kFileBytes`, written once so that it is cached.
class CachedFile {
 public:
  CachedFile() : fd_(mkstemp(path_.data())) {
    const std::vector<std::byte> bytes(1 * kMiB, std::byte{1});
    for (uint64_t at = 0; at < kFileBytes; at += bytes.size()) {
      if (pwrite(fd_.get(), bytes.data(), bytes.size(), static_cast<off_t>(at)) < 0) std::abort();
    }
  }
  ~CachedFile() { unlink(path_.c_str()); }
  CachedFile(const CachedFile&) = delete;
  CachedFile& operator=(const CachedFile&) = delete;

  int fd() const { return fd_.get(); }
  const std::string& path() const { return path_; }

 private:
  std::string path_ = "/var/tmp/skiff-bench-XXXXXX";
  UniqueFd fd_;
};

CachedFile& TheFile() {
  static CachedFile file;
  return file;
}

uint64_t RandomOffset(std::minstd_rand& random) {
  return random() % (kFileBytes / kBlock) * kBlock;
}

void BM_Pread(benchmark::State& state) {
  std::minstd_rand random;
  std::vector<std::byte> bytes(kBlock);
  for ([[maybe_unused]] auto _ : state) {
    const auto at = static_cast<off_t>(RandomOffset(random));
    if (pread(TheFile().fd(), bytes.data(), kBlock, at) != kBlock) std::abort();
  }
  state.SetItemsProcessed(state.iterations());
}

void BM_Pwrite(benchmark::State& state) {
  std::minstd_rand random;
  std::vector<std::byte> bytes(kBlock);
  for ([[maybe_unused]] auto _ : state) {
    const auto at = static_cast<off_t>(RandomOffset(random));
    if (pwrite(TheFile().fd(), bytes.data(), kBlock, at) != kBlock) std::abort();
  }
  state.SetItemsProcessed(state.iterations());
}

// Makes every transfer wait, as far as the queue can tell.
class WaitingImage final : public Image {
 public:
  explicit WaitingImage(std::unique_ptr<Image> inner) : inner_(std::move(inner)) {}
  const BlockLimits& limits() const override { return inner_->limits(); }
  File& data_file() override { return inner_->data_file(); }
  Image* below() override { return nullptr; }
  Result<ReadPlan> MapRead(DiskRange range) override { return inner_->MapRead(range); }
  std::optional<ReadPlan> TryMapRead(DiskRange) override { return std::nullopt; }
  Result<WritePlan> PrepareWrite(DiskRange range) override { return inner_->PrepareWrite(range); }
  std::optional<WritePlan> TryPrepareWrite(DiskRange) override { return std::nullopt; }
  Result<void> Discard(DiskRange range) override { return inner_->Discard(range); }
  Result<void> WriteZeroes(DiskRange range, bool may_unmap) override {
    return inner_->WriteZeroes(range, may_unmap);
  }
  Result<void> Flush() override { return inner_->Flush(); }
  Result<BlockStatus> Status(DiskRange range) override { return inner_->Status(range); }

 private:
  std::unique_ptr<Image> inner_;
};

struct Slot {
  std::vector<std::byte> bytes = std::vector<std::byte>(kBlock);
  iovec buffer{};
  BlockRequest request;
};

// As a device does it: submit what there is, reap what was done at once, kick, wait for the rest.
void RunQueue(benchmark::State& state, BlockOp op, bool at_once) {
  const auto depth = static_cast<size_t>(state.range(0));
  PosixFileOptions options;
  options.lock = false;
  std::unique_ptr<Image> image =
      RawImage::Open(OpenHostFile(TheFile().path(), options).value()).value();
  if (!at_once) image = std::make_unique<WaitingImage>(std::move(image));
  const auto pool = ThreadPool::Make().value();
  const auto queue = ThreadPoolQueue::Make(BlockingExecutor(*image, false), *pool).value();
  std::minstd_rand random;
  std::vector<Slot> slots(depth);
  for ([[maybe_unused]] auto _ : state) {
    for (Slot& slot : slots) {
      slot.buffer = {slot.bytes.data(), kBlock};
      slot.request.op = op;
      slot.request.range = DiskRange::Make(DiskOffset(RandomOffset(random)), kBlock).value();
      slot.request.buffers = {&slot.buffer, 1};
      queue->Submit(slot.request);
    }
    size_t reaped = 0;
    while (queue->Reap() != nullptr) ++reaped;
    queue->Kick();
    while (reaped < depth) {
      pollfd ready{queue->completion_event(), POLLIN, 0};
      poll(&ready, 1, -1);
      while (queue->Reap() != nullptr) ++reaped;
    }
  }
  state.SetItemsProcessed(state.iterations() * static_cast<int64_t>(depth));
}

void BM_QueueRead(benchmark::State& state) { RunQueue(state, BlockOp::kRead, true); }
void BM_QueueReadByThreads(benchmark::State& state) { RunQueue(state, BlockOp::kRead, false); }
void BM_QueueWrite(benchmark::State& state) { RunQueue(state, BlockOp::kWrite, true); }

BENCHMARK(BM_Pread)->UseRealTime();
BENCHMARK(BM_QueueRead)->Arg(1)->Arg(32)->UseRealTime();
BENCHMARK(BM_QueueReadByThreads)->Arg(1)->Arg(32)->UseRealTime();
BENCHMARK(BM_Pwrite)->UseRealTime();
BENCHMARK(BM_QueueWrite)->Arg(1)->Arg(32)->UseRealTime();

}  // namespace
}  // namespace skiff
