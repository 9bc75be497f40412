#include "devices/virtio/chain_io.h"

#include <algorithm>

namespace skiff::virtio {
namespace {

// Calls visit(piece) for each non-empty piece of the bytes [offset, offset + length).
template <typename Visit>
void ForEachPiece(std::span<const GuestSpan> buffers, uint64_t offset, uint64_t length,
                  Visit&& visit) {
  for (const GuestSpan& buffer : buffers) {
    if (length == 0) return;
    if (offset >= buffer.size()) {
      offset -= buffer.size();
      continue;
    }
    const size_t take = std::min<uint64_t>(length, buffer.size() - offset);
    const auto piece = buffer.Subspan(offset, take);
    if (!piece.ok()) return;  // cannot be: both lie inside
    visit(piece.value());
    offset = 0;
    length -= take;
  }
}

}  // namespace

uint64_t ByteCount(std::span<const GuestSpan> buffers) {
  uint64_t total = 0;
  for (const GuestSpan& buffer : buffers) total += buffer.size();
  return total;
}

size_t CopyOut(std::span<const GuestSpan> buffers, uint64_t offset, std::span<std::byte> dst) {
  size_t done = 0;
  ForEachPiece(buffers, offset, dst.size(),
               [&](const GuestSpan& piece) { done += piece.CopyTo(dst.subspan(done)); });
  return done;
}

size_t CopyIn(std::span<const GuestSpan> buffers, uint64_t offset, std::span<const std::byte> src) {
  size_t done = 0;
  ForEachPiece(buffers, offset, src.size(),
               [&](const GuestSpan& piece) { done += piece.CopyFrom(src.subspan(done)); });
  return done;
}

std::optional<GuestSpan> LastByte(std::span<const GuestSpan> buffers) {
  if (buffers.empty() || buffers.back().size() == 0) return std::nullopt;
  const auto last = buffers.back().Subspan(buffers.back().size() - 1, 1);
  return last.ok() ? std::optional(last.value()) : std::nullopt;
}

size_t DescribeForKernel(std::span<const GuestSpan> buffers, uint64_t offset, uint64_t length,
                         std::span<iovec> out) {
  size_t count = 0;
  ForEachPiece(buffers, offset, length, [&](const GuestSpan& piece) {
    if (count < out.size()) out[count++] = piece.ForKernel();
  });
  return count;
}

}  // namespace skiff::virtio
