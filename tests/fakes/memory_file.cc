#include "tests/fakes/memory_file.h"

#include <algorithm>

#include "base/arith.h"
#include "base/iovec_cursor.h"

namespace skiff::fakes {
namespace {

constexpr uint64_t kBlock = 4 * kKiB;

Error Misaligned() { return Error::FromErrno("memory file: misaligned", EINVAL); }

}  // namespace

FileFacts MemoryFile::DefaultFacts() {
  FileFacts facts;
  facts.discard_granularity = kBlock;
  facts.quick_zero = true;
  return facts;
}

std::vector<std::byte> MemoryFile::Bytes() const {
  MutexLock lock(mutex_);
  return bytes_;
}

void MemoryFile::SetBytes(std::vector<std::byte> bytes) {
  MutexLock lock(mutex_);
  bytes_ = std::move(bytes);
}

void MemoryFile::SetNeverWaits(bool never_waits) {
  MutexLock lock(mutex_);
  never_waits_ = never_waits;
}

uint64_t MemoryFile::size() const {
  MutexLock lock(mutex_);
  return bytes_.size();
}

Result<void> MemoryFile::ReadAt(FileOffset at, std::span<const iovec> buffers) {
  if (!IsAligned(facts_.required, at, buffers)) return Misaligned();
  MutexLock lock(mutex_);
  IovecCursor out(buffers);
  if (at.value() < bytes_.size()) out.CopyIn(std::span(bytes_).subspan(at.value()));
  out.Zero(out.remaining());
  return {};
}

Result<void> MemoryFile::WriteAt(FileOffset at, std::span<const iovec> buffers) {
  if (!IsAligned(facts_.required, at, buffers)) return Misaligned();
  MutexLock lock(mutex_);
  const uint64_t end = at.value() + TotalBytes(buffers);
  if (end > bytes_.size()) {
    if (facts_.fixed_size) return OutOfRange("past the end of the device");
    bytes_.resize(end);
  }
  IovecCursor(buffers).CopyOut(std::span(bytes_).subspan(at.value()));
  return {};
}

bool MemoryFile::TryReadAt(FileOffset at, std::span<const iovec> buffers) {
  {
    MutexLock lock(mutex_);
    if (!never_waits_) return false;
  }
  return ReadAt(at, buffers).ok();
}

bool MemoryFile::TryWriteAt(FileOffset at, std::span<const iovec> buffers) {
  {
    MutexLock lock(mutex_);
    if (!never_waits_) return false;
  }
  return WriteAt(at, buffers).ok();
}

Result<void> MemoryFile::Fill(FileRange range, std::byte value) {
  if (!IsAligned(range.start().value() | range.length(), facts_.required.block))
    return Misaligned();
  MutexLock lock(mutex_);
  const uint64_t size = bytes_.size();
  const auto begin = static_cast<ptrdiff_t>(std::min(range.start().value(), size));
  const auto end = static_cast<ptrdiff_t>(std::min(range.end().value(), size));
  std::fill(bytes_.begin() + begin, bytes_.begin() + end, value);
  return {};
}

Result<void> MemoryFile::Zero(FileRange range, bool /*may_unmap*/) {
  return Fill(range, std::byte{0});
}

// Nobody may rely on what is left, so it is neither the old content nor zeroes.
Result<void> MemoryFile::Discard(FileRange range) { return Fill(range, std::byte{0xdd}); }

Result<void> MemoryFile::Resize(uint64_t size) {
  MutexLock lock(mutex_);
  if (!facts_.fixed_size) {
    bytes_.resize(size);
  } else if (size > bytes_.size()) {
    return OutOfRange("the device is smaller");
  }
  return {};
}

bool MemoryFile::IsHoleLocked(uint64_t block) const {
  const uint64_t begin = block * kBlock;
  if (begin >= bytes_.size()) return true;
  const uint64_t end = std::min<uint64_t>(begin + kBlock, bytes_.size());
  const auto zero = [](std::byte byte) { return byte == std::byte{0}; };
  return std::all_of(bytes_.begin() + static_cast<ptrdiff_t>(begin),
                     bytes_.begin() + static_cast<ptrdiff_t>(end), zero);
}

Result<FileStatus> MemoryFile::Status(FileRange range) {
  MutexLock lock(mutex_);
  uint64_t block = range.start().value() / kBlock;
  const bool hole = IsHoleLocked(block);
  do {
    ++block;
  } while (block * kBlock < range.end().value() && IsHoleLocked(block) == hole);
  const uint64_t end = std::min(block * kBlock, range.end().value());
  return FileStatus{!hole, end - range.start().value()};
}

}  // namespace skiff::fakes
