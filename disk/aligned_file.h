#pragma once

#include <memory>

#include "disk/file.h"
#include "disk/range_lock.h"

namespace skiff {

// Lifts the alignment rules of a file that was opened for direct I/O: transfers that keep to them
// pass straight through; the others go through an aligned buffer, and where a write covers a block
// only in part, the rest of the block is read first. Such a write excludes every other write to its
// blocks meanwhile, so a neighbour's bytes are never put back to what they were.
//
// Owns the file below; whoever writes to that file past this object breaks the promise.
class AlignedFile final : public File {
 public:
  explicit AlignedFile(std::unique_ptr<File> inner);

  const FileFacts& facts() const override { return facts_; }
  uint64_t size() const override { return inner_->size(); }
  Result<void> ReadAt(FileOffset at, std::span<const iovec> buffers) override;
  Result<void> WriteAt(FileOffset at, std::span<const iovec> buffers) override;
  bool TryReadAt(FileOffset at, std::span<const iovec> buffers) override;
  bool TryWriteAt(FileOffset at, std::span<const iovec> buffers) override;
  Result<void> Zero(FileRange range, bool may_unmap) override;
  Result<void> Discard(FileRange range) override;
  Result<void> Resize(uint64_t size) override;
  Result<void> Sync() override { return inner_->Sync(); }
  Result<FileStatus> Status(FileRange range) override { return inner_->Status(range); }

 private:
  Result<FileRange> Outward(FileRange range) const;  // grown to whole blocks
  FileRange Inward(FileRange range) const;           // shrunk to whole blocks
  Result<void> ReadBounced(FileRange range, std::span<const iovec> buffers);
  Result<void> WriteBounced(FileRange range, std::span<const iovec> buffers);
  Result<void> WriteBlocks(FileRange range, FileRange blocks, std::span<const iovec> buffers);
  Result<void> LoadEdges(FileRange range, FileRange chunk, std::span<std::byte> bytes);
  Result<void> ZeroEdge(FileRange range);

  const std::unique_ptr<File> inner_;
  const Alignment rule_;
  const FileFacts facts_;
  RangeLock writes_;
};

}  // namespace skiff
