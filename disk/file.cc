#include "disk/file.h"

#include "base/arith.h"

namespace skiff {

Result<void> ReadBytes(File& file, FileOffset at, std::span<std::byte> bytes) {
  const iovec buffer{bytes.data(), bytes.size()};
  return file.ReadAt(at, {&buffer, 1});
}

Result<void> WriteBytes(File& file, FileOffset at, std::span<const std::byte> bytes) {
  const iovec buffer{const_cast<std::byte*>(bytes.data()), bytes.size()};  // only read from
  return file.WriteAt(at, {&buffer, 1});
}

bool IsAligned(const Alignment& alignment, FileOffset at, std::span<const iovec> buffers) {
  uint64_t blocks = at.value();
  uint64_t addresses = 0;
  for (const iovec& buffer : buffers) {
    blocks |= buffer.iov_len;
    addresses |= reinterpret_cast<uintptr_t>(buffer.iov_base);
  }
  return IsAligned(blocks, alignment.block) && IsAligned(addresses, alignment.memory);
}

}  // namespace skiff
