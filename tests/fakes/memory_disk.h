#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <memory>
#include <vector>

#include "base/event_fd.h"
#include "base/mutex.h"
#include "base/thread.h"
#include "disk/block.h"

namespace skiff::fakes {

struct DiskEvent {
  BlockOp op;
  uint64_t start;
  uint64_t length;
  bool may_unmap;
  bool force_unit_access;
};

// What tests look at and turn while a MemoryDisk belongs to a device. Thread-safe.
class MemoryDiskState {
 public:
  explicit MemoryDiskState(uint64_t bytes) : bytes_(bytes) {}

  std::vector<std::byte> Bytes() const EXCLUDES(mutex_);
  void SetBytes(uint64_t start, std::vector<std::byte> bytes) EXCLUDES(mutex_);
  std::vector<DiskEvent> Events() const EXCLUDES(mutex_);  // carried out, in order

  // While held, requests are accepted but not carried out.
  void Hold() EXCLUDES(mutex_);
  void Release() EXCLUDES(mutex_);
  uint32_t waiting() const EXCLUDES(mutex_);  // accepted and not yet carried out
  uint32_t most_in_flight() const EXCLUDES(mutex_);
  bool depth_exceeded() const EXCLUDES(mutex_);

  // Every later operation of this kind fails with the code.
  void Fail(BlockOp op, ErrorCode code) EXCLUDES(mutex_);

 private:
  friend class MemoryDiskQueue;
  Result<void> CarryOutLocked(const BlockRequest& request) REQUIRES(mutex_);

  mutable Mutex mutex_;
  CondVar changed_;
  std::vector<std::byte> bytes_ GUARDED_BY(mutex_);
  std::vector<DiskEvent> events_ GUARDED_BY(mutex_);
  std::vector<std::pair<BlockOp, ErrorCode>> failures_ GUARDED_BY(mutex_);
  bool held_ GUARDED_BY(mutex_) = false;
  uint32_t waiting_ GUARDED_BY(mutex_) = 0;
  uint32_t most_in_flight_ GUARDED_BY(mutex_) = 0;
  bool depth_exceeded_ GUARDED_BY(mutex_) = false;
};

// A disk in memory with one thread for each queue, so slow and as faulty as a test wants it.
class MemoryDisk final : public BlockBackend {
 public:
  // 512-byte blocks, discard and write-zeroes.
  static BlockLimits DefaultLimits(uint64_t bytes);

  // `state` holds limits.size bytes.
  MemoryDisk(std::shared_ptr<MemoryDiskState> state, const BlockLimits& limits)
      : state_(std::move(state)), limits_(limits) {}

  const BlockLimits& limits() const override { return limits_; }
  Result<std::unique_ptr<BlockQueue>> OpenQueue(uint32_t depth) override;
  Result<BlockStatus> Status(DiskRange range) override;
  Result<void> Close() override { return {}; }

 private:
  const std::shared_ptr<MemoryDiskState> state_;
  const BlockLimits limits_;
};

}  // namespace skiff::fakes
