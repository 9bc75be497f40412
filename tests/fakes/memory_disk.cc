#include "tests/fakes/memory_disk.h"

#include <algorithm>
#include <optional>

#include "base/iovec_cursor.h"

namespace skiff::fakes {

class MemoryDiskQueue final : public BlockQueue {
 public:
  static Result<std::unique_ptr<BlockQueue>> Start(std::shared_ptr<MemoryDiskState> state,
                                                   uint32_t depth) {
    EventFd event = TRY(EventFd::Make());
    std::unique_ptr<MemoryDiskQueue> queue(
        new MemoryDiskQueue(std::move(state), depth, std::move(event)));
    queue->thread_ = TRY(Thread::Start("memory-disk", [q = queue.get()] { q->Run(); }));
    return std::unique_ptr<BlockQueue>(std::move(queue));
  }

  ~MemoryDiskQueue() override {
    {
      MutexLock lock(state_->mutex_);
      ending_ = true;
      state_->changed_.NotifyAll();
    }
    thread_.reset();
  }

  // Only Kick() shows requests to the thread, so a device that forgets it hangs its test.
  void Submit(BlockRequest& request) override { batch_.push_back(&request); }

  void Kick() override {
    MutexLock lock(state_->mutex_);
    for (BlockRequest* request : batch_) queue_.push_back(request);
    state_->waiting_ += static_cast<uint32_t>(batch_.size());
    in_flight_ += static_cast<uint32_t>(batch_.size());
    state_->most_in_flight_ = std::max(state_->most_in_flight_, in_flight_);
    if (in_flight_ > depth_) state_->depth_exceeded_ = true;
    batch_.clear();
    state_->changed_.NotifyAll();
  }

  int completion_event() const override { return event_.fd(); }

  BlockRequest* Reap() override {
    MutexLock lock(state_->mutex_);
    event_.Drain();
    if (done_.empty()) return nullptr;
    BlockRequest* request = done_.front();
    done_.pop_front();
    --in_flight_;
    return request;
  }

 private:
  MemoryDiskQueue(std::shared_ptr<MemoryDiskState> state, uint32_t depth, EventFd event)
      : state_(std::move(state)), depth_(depth), event_(std::move(event)) {}

  void Run() {
    while (Step()) {
    }
  }

  // Carries out one request; false at the end, when none is left.
  bool Step() {
    MutexLock lock(state_->mutex_);
    while ((queue_.empty() && !ending_) || state_->held_) state_->changed_.Wait(state_->mutex_);
    if (queue_.empty()) return false;
    BlockRequest* request = queue_.front();
    queue_.pop_front();
    --state_->waiting_;
    request->outcome = state_->CarryOutLocked(*request);
    done_.push_back(request);
    event_.Signal();
    state_->changed_.NotifyAll();
    return true;
  }

  const std::shared_ptr<MemoryDiskState> state_;
  const uint32_t depth_;
  const EventFd event_;
  std::vector<BlockRequest*> batch_;  // the submitter's
  // Under the state's mutex:
  std::deque<BlockRequest*> queue_;
  std::deque<BlockRequest*> done_;
  uint32_t in_flight_ = 0;
  bool ending_ = false;
  std::optional<Thread> thread_;
};

std::vector<std::byte> MemoryDiskState::Bytes() const {
  MutexLock lock(mutex_);
  return bytes_;
}

void MemoryDiskState::SetBytes(uint64_t start, std::vector<std::byte> bytes) {
  MutexLock lock(mutex_);
  std::ranges::copy(bytes, bytes_.begin() + static_cast<ptrdiff_t>(start));
}

std::vector<DiskEvent> MemoryDiskState::Events() const {
  MutexLock lock(mutex_);
  return events_;
}

void MemoryDiskState::Hold() {
  MutexLock lock(mutex_);
  held_ = true;
}

void MemoryDiskState::Release() {
  MutexLock lock(mutex_);
  held_ = false;
  changed_.NotifyAll();
}

uint32_t MemoryDiskState::waiting() const {
  MutexLock lock(mutex_);
  return waiting_;
}

uint32_t MemoryDiskState::most_in_flight() const {
  MutexLock lock(mutex_);
  return most_in_flight_;
}

bool MemoryDiskState::depth_exceeded() const {
  MutexLock lock(mutex_);
  return depth_exceeded_;
}

void MemoryDiskState::Fail(BlockOp op, ErrorCode code) {
  MutexLock lock(mutex_);
  failures_.emplace_back(op, code);
}

Result<void> MemoryDiskState::CarryOutLocked(const BlockRequest& request) {
  const uint64_t start = request.range.start().value();
  const uint64_t length = request.range.length();
  events_.push_back({request.op, start, length, request.may_unmap, request.force_unit_access});
  for (const auto& [op, code] : failures_)
    if (op == request.op) return Error(code, "as the test wants it");
  if (request.range.end().value() > bytes_.size()) return OutOfRange("outside the disk");
  const std::span<std::byte> stretch = std::span(bytes_).subspan(start, length);
  const bool moves = request.op == BlockOp::kRead || request.op == BlockOp::kWrite;
  if (moves && TotalBytes(request.buffers) != length) return Invalid("buffers of another length");
  IovecCursor cursor(request.buffers);
  if (request.op == BlockOp::kRead) cursor.CopyIn(stretch);
  if (request.op == BlockOp::kWrite) cursor.CopyOut(stretch);
  if (request.op == BlockOp::kDiscard || request.op == BlockOp::kWriteZeroes)
    std::ranges::fill(stretch, std::byte{0});
  return {};
}

BlockLimits MemoryDisk::DefaultLimits(uint64_t bytes) {
  return {.size = bytes,
          .discard_granularity = 512,
          .max_discard = uint64_t{1} << 30,
          .max_zero_length = uint64_t{1} << 30};
}

Result<std::unique_ptr<BlockQueue>> MemoryDisk::OpenQueue(uint32_t depth) {
  return MemoryDiskQueue::Start(state_, depth);
}

Result<BlockStatus> MemoryDisk::Status(DiskRange range) {
  return BlockStatus{BlockState::kData, range.length(), std::nullopt};
}

}  // namespace skiff::fakes
