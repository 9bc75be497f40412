#include "disk/engine/backend.h"

#include <utility>

#include "base/log.h"
#include "disk/engine/thread_pool_queue.h"

namespace skiff {
namespace {

BlockLimits WithCache(BlockLimits limits, bool write_through) {
  limits.volatile_cache = !write_through;
  return limits;
}

}  // namespace

Result<std::unique_ptr<ThreadPoolBackend>> ThreadPoolBackend::Make(std::unique_ptr<Image> image,
                                                                   ThreadPool* shared_pool,
                                                                   bool write_through) {
  std::unique_ptr<ThreadPool> own_pool;
  if (shared_pool == nullptr) own_pool = TRY(ThreadPool::Make());
  ThreadPool& pool = shared_pool != nullptr ? *shared_pool : *own_pool;
  return std::unique_ptr<ThreadPoolBackend>(
      new ThreadPoolBackend(std::move(image), std::move(own_pool), pool, write_through));
}

ThreadPoolBackend::ThreadPoolBackend(std::unique_ptr<Image> image,
                                     std::unique_ptr<ThreadPool> own_pool, ThreadPool& pool,
                                     bool write_through)
    : image_(std::move(image)),
      limits_(WithCache(image_->limits(), write_through)),
      write_through_(write_through),
      own_pool_(std::move(own_pool)),
      pool_(pool) {}

ThreadPoolBackend::~ThreadPoolBackend() {
  const Result<void> closed = Close();
  if (!closed.ok()) LogError("closing a disk: " + closed.error().message());
}

// Requests are linked through themselves, so there is nothing to size by the depth.
Result<std::unique_ptr<BlockQueue>> ThreadPoolBackend::OpenQueue(uint32_t /*depth*/) {
  std::unique_ptr<BlockQueue> queue =
      TRY(ThreadPoolQueue::Make(BlockingExecutor(*image_, write_through_), pool_));
  return queue;
}

Result<BlockStatus> ThreadPoolBackend::Status(DiskRange range) {
  if (range.end().value() > limits_.size) return OutOfRange("past the end of the disk");
  if (range.empty()) return BlockStatus{BlockState::kData, 0, std::nullopt};
  return image_->Status(range);
}

Result<void> ThreadPoolBackend::Close() {
  if (std::exchange(closed_, true)) return {};
  return image_->Close();
}

}  // namespace skiff
