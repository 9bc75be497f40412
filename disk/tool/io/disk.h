#pragma once

#include <functional>
#include <list>
#include <memory>
#include <span>

#include "disk/block.h"

namespace skiff::io {

// What to do with some bytes of a disk, which need not be whole blocks.
struct Transfer {
  BlockOp op = BlockOp::kFlush;
  uint64_t at = 0;
  uint64_t length = 0;
  std::span<const iovec> buffers;  // kRead, kWrite: total equals length
  bool may_unmap = false;
  bool force_unit_access = false;
};

// An open disk, used through the same queue as a guest's, by one thread. Parts of blocks are read,
// changed and written back here, since a queue takes whole blocks only.
class Disk {
 public:
  using Completion = std::function<void(const Result<void>&)>;

  static Result<std::unique_ptr<Disk>> Make(std::unique_ptr<BlockBackend> backend);
  ~Disk();
  Disk(const Disk&) = delete;
  Disk& operator=(const Disk&) = delete;

  const BlockLimits& limits() const { return backend_->limits(); }
  Result<BlockStatus> Status(uint64_t at, uint64_t length);
  // kOutOfRange if the bytes are not all on the disk.
  Result<void> CheckRange(uint64_t at, uint64_t length) const;

  // Waits until it is done.
  Result<void> Perform(const Transfer& transfer);
  // Returns at once; `done` is called inside a later call of this class. The buffers must live
  // until then.
  void Start(const Transfer& transfer, Completion done);
  void Poll();   // tells what has completed
  void Drain();  // waits for all that was started

  // Grows or shrinks the disk.
  Result<void> Resize(uint64_t size);

  // Waits for all that was started, makes it durable and leaves the file tidy; the disk cannot be
  // used afterwards.
  Result<void> Close();

 private:
  struct Started {
    BlockRequest request;
    Completion done;
  };

  Disk(std::unique_ptr<BlockBackend> backend, std::unique_ptr<BlockQueue> queue)
      : backend_(std::move(backend)), queue_(std::move(queue)) {}

  bool WholeBlocks(const Transfer& transfer) const;
  uint64_t LongestFor(BlockOp op) const;
  Result<void> ReadParts(const Transfer& transfer);
  Result<void> WriteParts(const Transfer& transfer);
  Result<void> Clear(const Transfer& transfer);
  Result<void> ClearBlocks(Transfer transfer);
  Result<void> WriteZeroBytes(const Transfer& transfer);
  Result<void> ReadBlock(uint64_t at, std::span<std::byte> block);

  // To the queue as it is, and waits.
  Result<void> Submit(const Transfer& transfer);
  // The same with these bytes instead.
  Result<void> Submit(Transfer transfer, uint64_t at, std::span<std::byte> bytes);
  BlockRequest& Await();  // the next one that completes
  void Finish(BlockRequest& request);
  void TellFinished();

  std::unique_ptr<BlockBackend> backend_;
  std::unique_ptr<BlockQueue> queue_;
  std::list<Started> started_;
  std::list<Started> finished_;  // not told yet
};

}  // namespace skiff::io
