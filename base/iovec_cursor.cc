#include "base/iovec_cursor.h"

#include <algorithm>
#include <cstring>

namespace skiff {
namespace {

std::byte* At(const iovec& buffer, size_t offset) {
  return static_cast<std::byte*>(buffer.iov_base) + offset;
}

}  // namespace

uint64_t TotalBytes(std::span<const iovec> buffers) {
  uint64_t total = 0;
  for (const iovec& buffer : buffers) total += buffer.iov_len;
  return total;
}

uint64_t IovecCursor::remaining() const { return TotalBytes(buffers_.subspan(index_)) - offset_; }

size_t IovecCursor::Peek(uint64_t length, std::span<iovec> out) const {
  size_t count = 0;
  size_t offset = offset_;
  for (size_t i = index_; i < buffers_.size() && length > 0 && count < out.size(); ++i) {
    const size_t piece = std::min<uint64_t>(buffers_[i].iov_len - offset, length);
    if (piece > 0) out[count++] = {At(buffers_[i], offset), piece};
    length -= piece;
    offset = 0;
  }
  return count;
}

void IovecCursor::Skip(uint64_t length) {
  while (index_ < buffers_.size()) {
    const size_t left = buffers_[index_].iov_len - offset_;
    if (length < left) {
      offset_ += length;
      return;
    }
    length -= left;
    ++index_;
    offset_ = 0;
  }
}

uint64_t IovecCursor::CopyIn(std::span<const std::byte> src) {
  uint64_t done = 0;
  iovec piece;
  while (done < src.size() && Peek(src.size() - done, {&piece, 1}) == 1) {
    std::memcpy(piece.iov_base, src.data() + done, piece.iov_len);
    Skip(piece.iov_len);
    done += piece.iov_len;
  }
  return done;
}

uint64_t IovecCursor::CopyOut(std::span<std::byte> dst) {
  uint64_t done = 0;
  iovec piece;
  while (done < dst.size() && Peek(dst.size() - done, {&piece, 1}) == 1) {
    std::memcpy(dst.data() + done, piece.iov_base, piece.iov_len);
    Skip(piece.iov_len);
    done += piece.iov_len;
  }
  return done;
}

uint64_t IovecCursor::Zero(uint64_t length) {
  uint64_t done = 0;
  iovec piece;
  while (done < length && Peek(length - done, {&piece, 1}) == 1) {
    std::memset(piece.iov_base, 0, piece.iov_len);
    Skip(piece.iov_len);
    done += piece.iov_len;
  }
  return done;
}

}  // namespace skiff
