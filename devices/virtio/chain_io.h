#pragma once

#include <sys/uio.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "base/guest_memory.h"

// Reading and filling one half of a descriptor chain as if it were one stretch of bytes, so that
// no device depends on where the driver cuts it (VIRTIO 1.2, 2.7.4 "Message Framing").
namespace skiff::virtio {

uint64_t ByteCount(std::span<const GuestSpan> buffers);

// Copies as many bytes as both sides have, from `offset` of the buffers on; returns how many.
size_t CopyOut(std::span<const GuestSpan> buffers, uint64_t offset, std::span<std::byte> dst);
size_t CopyIn(std::span<const GuestSpan> buffers, uint64_t offset, std::span<const std::byte> src);

// nullopt when the buffers end too early.
template <GuestReadable T>
std::optional<T> ReadAt(std::span<const GuestSpan> buffers, uint64_t offset) {
  T copy{};
  const auto bytes = std::as_writable_bytes(std::span(&copy, 1));
  if (CopyOut(buffers, offset, bytes) != bytes.size()) return std::nullopt;
  return copy;
}

// Where the status of many device types goes; nullopt when there are no bytes.
std::optional<GuestSpan> LastByte(std::span<const GuestSpan> buffers);

// Describes `length` bytes from `offset` on for the kernel, in the front of `out`; returns how
// many entries that took. `out` has at least as many as there are buffers.
size_t DescribeForKernel(std::span<const GuestSpan> buffers, uint64_t offset, uint64_t length,
                         std::span<iovec> out);

}  // namespace skiff::virtio
