#pragma once

#include <sys/uio.h>

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace skiff::io {

enum class Placement : uint8_t {
  kAligned,     // to a page: direct I/O takes it as it is
  kMisaligned,  // past a page's start: direct I/O must copy
};

// Memory for a transfer, as one piece and as the pieces that a command names. Never moves.
class Buffer {
 public:
  // `lengths`: of the pieces, one after the other.
  Buffer(std::span<const uint64_t> lengths, Placement placement);

  std::span<std::byte> bytes() { return bytes_; }
  std::span<const iovec> pieces() const { return pieces_; }

  void Fill(std::byte pattern);
  // Repeats `pattern`, which is not empty.
  void Fill(std::span<const std::byte> pattern);

 private:
  struct Free {
    void operator()(std::byte* memory) const;
  };

  std::unique_ptr<std::byte, Free> memory_;
  std::span<std::byte> bytes_;
  std::vector<iovec> pieces_;
};

// Whether all of `bytes` are `pattern`.
bool AllAre(std::span<const std::byte> bytes, std::byte pattern);

}  // namespace skiff::io
