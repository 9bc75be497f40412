#pragma once

#include <sys/uio.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <span>

#include "base/position.h"
#include "base/result.h"

namespace skiff {

// What a disk can do. All lengths in bytes.
struct BlockLimits {
  uint64_t size = 0;                 // what the guest sees; a multiple of logical_block
  uint32_t logical_block = 512;      // smallest unit of I/O; power of two, 512 or more
  uint32_t physical_block = 512;     // unit that is written without read-modify-write
  uint32_t optimal_io = 0;           // preferred unit (a qcow2 cluster, say); 0: none
  uint32_t buffer_alignment = 1;     // memory alignment that spares a bounce buffer
  uint32_t discard_granularity = 0;  // 0: discard unsupported
  uint64_t max_discard = 0;          // longest discard
  uint64_t max_zero_length = 0;      // longest write-zeroes; 0: unsupported
  bool read_only = false;
  bool volatile_cache = true;  // completed writes may be lost until a kFlush; false: write-through
};

enum class BlockOp : uint8_t { kRead, kWrite, kFlush, kDiscard, kWriteZeroes };

// One operation in flight. The submitter owns it and keeps it, and the memory behind `buffers`,
// alive until it comes back from Reap().
struct BlockRequest {
  BlockOp op = BlockOp::kFlush;
  DiskRange range;                 // empty for kFlush; a multiple of logical_block else
  std::span<const iovec> buffers;  // kRead, kWrite: total equals range.length()
  bool may_unmap = false;          // kWriteZeroes: deallocating is welcome
  bool force_unit_access = false;  // kWrite, kWriteZeroes: durable when it completes
  void* cookie = nullptr;          // the submitter's own
  Result<void> outcome{};          // set before Reap() hands the request back
  BlockRequest* next = nullptr;    // the engine's, while it has the request
};

// One submission channel, used by one thread (typically one per virtqueue). The thread-pool
// engine and the io_uring engine both look like this, so a device is written once.
class BlockQueue {
 public:
  virtual ~BlockQueue() = default;  // waits for everything in flight

  // Never blocks on the disk. Requests may complete in any order; the only ordering is kFlush,
  // which covers what completed before it was submitted. A request that breaks the limits
  // (outside the disk, a write to a read-only one) completes with an error.
  virtual void Submit(BlockRequest& request) = 0;

  // Starts whatever Submit() batched: one io_uring_enter, or one pool wake-up.
  virtual void Kick() = 0;

  // Becomes readable when Reap() has something to return; Reap() resets it, so go on until it
  // returns null. What Submit() could do at once may be reaped before Kick(), which then spares
  // the wake-up.
  virtual int completion_event() const = 0;
  virtual BlockRequest* Reap() = 0;  // null when drained
};

// What is behind a stretch of the disk. `length` may end early, never late.
enum class BlockState : uint8_t {
  kData,   // allocated here
  kZero,   // reads as zeroes, whatever lies below
  kBelow,  // not here: ask the backing file, or zeroes at the bottom
};

struct BlockStatus {
  BlockState state;
  uint64_t length;
  std::optional<FileOffset> file_offset;  // set when bytes sit unencoded in the file
};

// An open disk, whatever its format. Thread-safe.
class BlockBackend {
 public:
  virtual ~BlockBackend() = default;
  virtual const BlockLimits& limits() const = 0;
  // `depth`: most requests in flight. Queues must be gone before the backend.
  virtual Result<std::unique_ptr<BlockQueue>> OpenQueue(uint32_t depth) = 0;
  virtual Result<BlockStatus> Status(DiskRange range) = 0;
  // Flushes it and leaves its file tidy, once, when its queues are gone and nothing else will be
  // asked of it; if that fails it is as after a crash. The destructor does it for those who cannot
  // act on a failure: then a line in the log tells it.
  virtual Result<void> Close() = 0;
};

}  // namespace skiff
