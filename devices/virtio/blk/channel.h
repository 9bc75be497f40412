#pragma once

#include <sys/uio.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "base/log.h"
#include "devices/virtio/blk/request.h"
#include "devices/virtio/blk/spec_blk.h"
#include "devices/virtio/device.h"
#include "devices/virtio/worker.h"
#include "disk/block.h"

namespace skiff::virtio {

// Sums over the device's life, all queues and sessions. Written by the queues' threads, read by
// any thread; the numbers need not fit each other at an instant.
struct BlkStatistics {
  std::atomic<uint64_t> requests{0};  // taken from the ring, good or bad
  std::atomic<uint64_t> read_bytes{0};
  std::atomic<uint64_t> written_bytes{0};
  std::atomic<uint64_t> flushes{0};
  std::atomic<uint64_t> failures{0};  // answered with anything but OK
};

// What the queues of one disk share. Constant while a device runs, but for the sums.
struct BlkDisk {
  BlockBackend* backend = nullptr;
  BlkRules rules;
  std::array<std::byte, kBlkIdBytes> id{};
  std::string_view name;  // for messages and threads
  BlkStatistics* statistics = nullptr;
};

// One virtqueue of a disk at work: its own thread and its own way into the disk, so that queues
// share no lock here. Made when the driver starts the device; the destructor lets the requests in
// flight end, unanswered, and afterwards nothing touches guest memory.
//
// Each request has a slot from the moment it is taken until it is answered. There are as many as
// the ring has entries, so none is ever refused for want of room, and nothing is allocated.
class BlkChannel {
 public:
  // `disk` and `notifier` outlive the channel.
  static Result<std::unique_ptr<BlkChannel>> Start(const BlkDisk& disk, SessionQueue queue,
                                                   Notifier& notifier);
  ~BlkChannel();
  BlkChannel(const BlkChannel&) = delete;
  BlkChannel& operator=(const BlkChannel&) = delete;

 private:
  struct Slot {
    BlockRequest request;
    std::optional<OwedAnswer> answer;  // set while the request is in flight
    GuestSpan status;
    uint32_t written_on_success = 0;
    std::array<iovec, 6> few;  // for short requests
    std::span<iovec> many;     // for all others
  };

  BlkChannel(const BlkDisk& disk, SessionQueue queue, Notifier& notifier,
             std::unique_ptr<BlockQueue> block_queue);
  Result<void> Run();
  void OnKick();
  void OnCompletion();
  void ReapAll();
  void Serve(DescriptorChain chain);
  void Submit(const BlkTransfer& transfer, DescriptorChain& chain, const GuestSpan& status);
  void Finish(Slot& slot);
  void Answer(OwedAnswer answer, const GuestSpan& status, uint8_t code, uint32_t written);
  uint8_t StatusOf(const BlockRequest& request);
  void Count(const BlockRequest& request);

  const BlkDisk& disk_;
  const SessionQueue queue_;
  Notifier& notifier_;
  LimitedLog protocol_log_;
  LimitedLog io_log_;

  // As many entries for each slot as a chain can have. Not initialised: a page of it costs memory
  // only once a long request was here.
  const std::unique_ptr<iovec[]> iovecs_;
  std::vector<Slot> slots_;
  std::vector<Slot*> free_;  // last in, first out, so that few of them are ever touched

  // Behind the slots: it goes first, and waits for what is in flight there.
  std::unique_ptr<BlockQueue> block_queue_;
  bool submitted_ = false;     // since the last BlockQueue::Kick()
  EventLoop* loop_ = nullptr;  // the worker's
  std::unique_ptr<Worker> worker_;
};

}  // namespace skiff::virtio
