#pragma once

#include <sys/uio.h>

#include <cstddef>
#include <cstdint>
#include <span>

namespace skiff {

uint64_t TotalBytes(std::span<const iovec> buffers);

// Walks a list of buffers front to back. The list and the memory behind it stay the caller's and
// must outlive the cursor. Used by one thread.
class IovecCursor {
 public:
  explicit IovecCursor(std::span<const iovec> buffers) : buffers_(buffers) {}

  uint64_t remaining() const;

  // Fills `out` with pieces of the next `length` bytes, as many pieces as fit, without moving on;
  // returns how many were filled. Empty buffers are left out.
  size_t Peek(uint64_t length, std::span<iovec> out) const;
  // Moves on by `length` bytes, or to the end.
  void Skip(uint64_t length);

  // Each handles min(remaining(), size) bytes, moves on and returns the count.
  uint64_t CopyIn(std::span<const std::byte> src);  // into the buffers
  uint64_t CopyOut(std::span<std::byte> dst);       // out of the buffers
  uint64_t Zero(uint64_t length);                   // into the buffers

 private:
  std::span<const iovec> buffers_;
  size_t index_ = 0;   // of the current buffer
  size_t offset_ = 0;  // inside it
};

}  // namespace skiff
