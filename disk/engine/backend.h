#pragma once

#include <memory>

#include "disk/block.h"
#include "disk/engine/thread_pool.h"
#include "disk/image.h"

namespace skiff {

// An image on a pool of threads, as a disk.
class ThreadPoolBackend final : public BlockBackend {
 public:
  // `shared_pool` may serve several disks and outlives them; null: this one gets its own.
  // `write_through`: writes are durable when they complete.
  static Result<std::unique_ptr<ThreadPoolBackend>> Make(std::unique_ptr<Image> image,
                                                         ThreadPool* shared_pool,
                                                         bool write_through);

  ~ThreadPoolBackend() override;

  const BlockLimits& limits() const override { return limits_; }
  Result<std::unique_ptr<BlockQueue>> OpenQueue(uint32_t depth) override;
  Result<BlockStatus> Status(DiskRange range) override;
  Result<void> Close() override;

 private:
  ThreadPoolBackend(std::unique_ptr<Image> image, std::unique_ptr<ThreadPool> own_pool,
                    ThreadPool& pool, bool write_through);

  const std::unique_ptr<Image> image_;
  const BlockLimits limits_;
  const bool write_through_;
  const std::unique_ptr<ThreadPool> own_pool_;  // null if shared
  ThreadPool& pool_;
  bool closed_ = false;
};

}  // namespace skiff
