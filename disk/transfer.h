#pragma once

#include <sys/uio.h>

#include <array>
#include <cerrno>
#include <climits>
#include <cstdint>
#include <span>
#include <string_view>

#include "base/iovec_cursor.h"
#include "base/result.h"

namespace skiff {

// Repeats one vectored host call until all of `buffers` went through: after a short transfer, after
// EINTR, and for lists longer than IOV_MAX. Returns how many bytes were moved: fewer than there
// are only where the file ended, that is where `step` moved nothing or, if a file is read in
// blocks of `block` bytes, a part of a block.
//
// `step(const iovec* buffers, int count, uint64_t done)` works like preadv(2) at `done` bytes
// behind the start.
template <typename Step>
Result<uint64_t> TransferAll(std::span<const iovec> buffers, uint32_t block, std::string_view call,
                             Step step) {
  const uint64_t total = TotalBytes(buffers);
  IovecCursor cursor(buffers);
  std::array<iovec, 64> window;
  uint64_t done = 0;
  while (done < total) {
    std::span<const iovec> pieces = buffers;
    if (done > 0 || buffers.size() > IOV_MAX)
      pieces = std::span(window).first(cursor.Peek(total - done, window));
    const ssize_t moved = step(pieces.data(), static_cast<int>(pieces.size()), done);
    if (moved < 0 && errno == EINTR) continue;
    if (moved < 0) return Error::FromErrno(call);
    done += static_cast<uint64_t>(moved);
    if (moved == 0 || done % block != 0) break;
    cursor.Skip(static_cast<uint64_t>(moved));
  }
  return done;
}

}  // namespace skiff
