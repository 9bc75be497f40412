#pragma once

#include <sys/uio.h>

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/position.h"
#include "base/result.h"

namespace skiff {

// Powers of two, in bytes.
struct Alignment {
  uint32_t memory = 1;  // of the address of every buffer
  uint32_t block = 1;   // of the position and of the length of every buffer
};

// What a file can do; fixed when it is opened.
struct FileFacts {
  Alignment required;                // a transfer that breaks it fails; AlignedFile lifts it
  Alignment preferred;               // spares copies and read-modify-write
  uint32_t discard_granularity = 0;  // 0: Discard() frees nothing
  bool quick_zero = false;           // Zero() need not write every byte
  bool fixed_size = false;           // a block device: does not grow
  bool read_only = false;
};

// A stretch of a file: data, or a hole (reads as zeroes and takes no room).
struct FileStatus {
  bool data;
  uint64_t length;  // may end early, never late; not 0 unless the question was empty
};

// The host file under an image, at fixed positions. Thread-safe. Transfers are whole or an
// error: short reads and EINTR end here. What lies past the end reads as zeroes, and writing there
// grows the file unless its size is fixed. The one seam every disk test plugs into: all I/O of a
// disk, guest data and metadata, goes through it.
//
// Buffers are only borrowed for the call. Calls that overlap in time and in place are as undefined
// as on a real disk, but bytes outside a call's range never change.
class File {
 public:
  virtual ~File() = default;
  virtual const FileFacts& facts() const = 0;
  virtual uint64_t size() const = 0;

  virtual Result<void> ReadAt(FileOffset at, std::span<const iovec> buffers) = 0;
  virtual Result<void> WriteAt(FileOffset at, std::span<const iovec> buffers) = 0;

  // The same, only if they need not wait for a disk. False: not done, for whatever reason; the
  // buffers (TryReadAt) or the range (TryWriteAt) may be partly overwritten, so call the other one.
  virtual bool TryReadAt(FileOffset at, std::span<const iovec> buffers) = 0;
  virtual bool TryWriteAt(FileOffset at, std::span<const iovec> buffers) = 0;

  // The range reads as zeroes afterwards. `may_unmap`: giving its room back is welcome.
  virtual Result<void> Zero(FileRange range, bool may_unmap) = 0;
  // A hint that the content is no longer needed; it is undefined until written again. Where the
  // host cannot do it, it succeeds and does nothing.
  virtual Result<void> Discard(FileRange range) = 0;
  // Regular files change to `size`. With `fixed_size`, looks how large the device is now, and
  // fails if it is smaller than `size`.
  virtual Result<void> Resize(uint64_t size) = 0;
  // Everything that was written before the call is durable when it succeeds. Once it has failed
  // it never succeeds again: the host may have dropped the data that it could not write.
  virtual Result<void> Sync() = 0;

  virtual Result<FileStatus> Status(FileRange range) = 0;
};

// ReadAt() and WriteAt() with one buffer.
Result<void> ReadBytes(File& file, FileOffset at, std::span<std::byte> bytes);
Result<void> WriteBytes(File& file, FileOffset at, std::span<const std::byte> bytes);

// True if a transfer of `buffers` at `at` keeps to `alignment`.
bool IsAligned(const Alignment& alignment, FileOffset at, std::span<const iovec> buffers);

}  // namespace skiff
