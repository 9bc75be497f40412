#pragma once

#include <vector>

#include "base/mutex.h"
#include "disk/file.h"

namespace skiff::fakes {

// A File in memory. Holds callers to the alignment that its facts require, as direct I/O would,
// and fails with EINVAL. 4 KiB blocks of zeroes count as holes.
class MemoryFile final : public File {
 public:
  explicit MemoryFile(uint64_t size = 0, const FileFacts& facts = DefaultFacts())
      : facts_(facts), bytes_(size) {}
  static FileFacts DefaultFacts();

  std::vector<std::byte> Bytes() const EXCLUDES(mutex_);
  void SetBytes(std::vector<std::byte> bytes) EXCLUDES(mutex_);
  // Whether TryReadAt() and TryWriteAt() succeed; at first they do not.
  void SetNeverWaits(bool never_waits) EXCLUDES(mutex_);

  const FileFacts& facts() const override { return facts_; }
  uint64_t size() const override EXCLUDES(mutex_);
  Result<void> ReadAt(FileOffset at, std::span<const iovec> buffers) override EXCLUDES(mutex_);
  Result<void> WriteAt(FileOffset at, std::span<const iovec> buffers) override EXCLUDES(mutex_);
  bool TryReadAt(FileOffset at, std::span<const iovec> buffers) override EXCLUDES(mutex_);
  bool TryWriteAt(FileOffset at, std::span<const iovec> buffers) override EXCLUDES(mutex_);
  Result<void> Zero(FileRange range, bool may_unmap) override EXCLUDES(mutex_);
  Result<void> Discard(FileRange range) override EXCLUDES(mutex_);
  Result<void> Resize(uint64_t size) override EXCLUDES(mutex_);
  Result<void> Sync() override { return {}; }
  Result<FileStatus> Status(FileRange range) override EXCLUDES(mutex_);

 private:
  Result<void> Fill(FileRange range, std::byte value) EXCLUDES(mutex_);
  bool IsHoleLocked(uint64_t block) const REQUIRES(mutex_);

  const FileFacts facts_;
  mutable Mutex mutex_;
  std::vector<std::byte> bytes_ GUARDED_BY(mutex_);
  bool never_waits_ GUARDED_BY(mutex_) = false;
};

}  // namespace skiff::fakes
