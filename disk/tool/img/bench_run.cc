#include "disk/tool/img/bench_run.h"

#include <poll.h>

#include <algorithm>
#include <vector>

#include "base/mapping.h"

namespace skiff::tool {
namespace {

class Bench {
 public:
  Bench(const BenchPlan& plan, uint64_t disk_size, BlockQueue& queue, std::byte* buffers)
      : plan_(plan), disk_size_(disk_size), queue_(queue), slots_(plan.depth) {
    for (size_t n = 0; n < slots_.size(); ++n) {
      slots_[n].buffer = {buffers + n * plan.buffer_size, plan.buffer_size};
      slots_[n].request.cookie = &slots_[n];
      free_.push_back(&slots_[n]);
    }
    offset_ = plan.offset;
  }

  Result<void> Run() {
    while (done_ < plan_.count || in_flight_ != 0) {
      SubmitMore();
      const bool reaped = TRY(ReapAll());
      if (reaped) continue;
      queue_.Kick();
      if (TRY(ReapAll())) continue;
      Wait();
    }
    return {};
  }

 private:
  struct Slot {
    BlockRequest request;
    iovec buffer;
  };

  // A flush goes before any further request, and with `drain` when all before it are over.
  bool FlushIsDue() const {
    return plan_.flush_interval != 0 && since_flush_ >= plan_.flush_interval;
  }

  void SubmitMore() {
    while (!free_.empty()) {
      if (FlushIsDue()) {
        if (plan_.drain && in_flight_ != 0) return;
        since_flush_ = 0;
        flushing_ = plan_.drain;
        Submit(BlockOp::kFlush, DiskRange());
        if (flushing_) return;
      } else if (submitted_ < plan_.count && !flushing_) {
        SubmitTransfer();
      } else {
        return;
      }
    }
  }

  void SubmitTransfer() {
    const auto range = DiskRange::Make(DiskOffset(offset_), plan_.buffer_size);
    ++submitted_;
    ++since_flush_;
    offset_ += plan_.step;
    offset_ = disk_size_ <= plan_.buffer_size ? 0 : offset_ % (disk_size_ - plan_.buffer_size);
    Submit(plan_.write ? BlockOp::kWrite : BlockOp::kRead, range.ok() ? *range : DiskRange());
  }

  void Submit(BlockOp op, DiskRange range) {
    Slot& slot = *free_.back();
    free_.pop_back();
    slot.request.op = op;
    slot.request.range = range;
    slot.request.buffers =
        op == BlockOp::kFlush ? std::span<const iovec>() : std::span(&slot.buffer, 1);
    ++in_flight_;
    queue_.Submit(slot.request);
  }

  // Whether anything came back.
  Result<bool> ReapAll() {
    bool any = false;
    while (BlockRequest* const request = queue_.Reap()) {
      any = true;
      --in_flight_;
      free_.push_back(static_cast<Slot*>(request->cookie));
      if (request->op == BlockOp::kFlush) {
        flushing_ = false;
      } else {
        ++done_;
      }
      TRY(std::move(request->outcome));
    }
    return any;
  }

  void Wait() const {
    pollfd event{queue_.completion_event(), POLLIN, 0};
    poll(&event, 1, -1);
  }

  const BenchPlan& plan_;
  const uint64_t disk_size_;
  BlockQueue& queue_;
  std::vector<Slot> slots_;
  std::vector<Slot*> free_;
  uint64_t offset_ = 0;
  uint64_t submitted_ = 0;
  uint64_t done_ = 0;
  uint64_t in_flight_ = 0;
  uint64_t since_flush_ = 0;
  bool flushing_ = false;
};

}  // namespace

Result<void> RunBench(BlockBackend& disk, const BenchPlan& plan) {
  const Mapping buffers = TRY(Mapping::Anonymous(plan.depth * plan.buffer_size));
  std::fill(buffers.bytes().begin(), buffers.bytes().end(), std::byte{plan.pattern});
  const std::unique_ptr<BlockQueue> queue = TRY(disk.OpenQueue(plan.depth));
  return Bench(plan, disk.limits().size, *queue, buffers.data()).Run();
}

}  // namespace skiff::tool
