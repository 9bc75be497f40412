#include "disk/qcow2/bulk_counts.h"

#include <algorithm>
#include <string>

#include "disk/qcow2/refcount_block.h"

namespace skiff::qcow2 {

FileOffset BulkCounts::BlockAt(uint64_t index) const {
  return FileOffset(index < table_.size() ? table_[index] & kRefcountBlockOffsetMask : 0);
}

Result<void> BulkCounts::Change(Kind kind, std::span<const ClusterRun> runs) {
  index_.reset();
  for (const ClusterRun& run : runs) TRY(ChangeRun(kind, run));
  return FinishBlock(kind);
}

Result<void> BulkCounts::ChangeRun(Kind kind, ClusterRun run) {
  const uint64_t per_block = geometry_.refcounts_per_block();
  while (run.count != 0) {
    const uint64_t index = run.first / per_block;
    const ClusterRun part{run.first, std::min(run.count, (index + 1) * per_block - run.first)};
    TRY(MoveTo(kind, index));
    TRY(ChangeInBlock(kind, part));
    run = {part.end(), run.count - part.count};
  }
  return {};
}

Result<void> BulkCounts::ChangeInBlock(Kind kind, ClusterRun run) {
  const uint32_t order = geometry_.refcount_order();
  const std::span<std::byte> block = block_;
  const uint64_t first = run.first % geometry_.refcounts_per_block();
  const uint64_t most = Most();
  for (uint64_t n = first; n < first + run.count; ++n) {
    const uint64_t count = RefcountAt(block, order, n);
    if (kind != kLower) {
      if (count == 0 || count == most) return Unraisable(count);
      SetRefcountAt(block, order, n, count + 1);
    } else if (count != 0) {  // else it is lower already than it should be
      SetRefcountAt(block, order, n, count - 1);
      if (count == 1) NoteFreed(run.first + n - first);
    }
  }
  return {};
}

Error BulkCounts::Unraisable(uint64_t count) const {
  if (count == 0) return Corrupt("a cluster in use has a reference count of 0");
  return OutOfRange("reference counts of " + std::to_string(geometry_.refcount_bits()) +
                    (geometry_.refcount_bits() == 1 ? " bit" : " bits") +
                    " are too small for one more snapshot");
}

Result<void> BulkCounts::MoveTo(Kind kind, uint64_t index) {
  if (index_ == index) return {};
  TRY(FinishBlock(kind));
  const FileOffset at = BlockAt(index);
  if (at.value() == 0 || !geometry_.IsAligned(at))
    return Corrupt("a cluster in use has no refcount block");
  block_.resize(geometry_.cluster_size());
  TRY(ReadBytes(file_, at, block_));
  index_ = index;
  return {};
}

Result<void> BulkCounts::FinishBlock(Kind kind) {
  if (!index_) return {};
  const FileOffset at = BlockAt(*index_);
  index_.reset();
  if (kind == kCheckRaise) return {};
  for (const ClusterRun& run : freed_) {
    const auto range = FileRange::Make(FileOffset(run.first << geometry_.cluster_bits()),
                                       run.count << geometry_.cluster_bits());
    // That a host cannot do it is no error.
    if (range.ok()) (void)file_.Discard(*range).ok();
    first_freed_ = std::min(first_freed_, run.first);
  }
  freed_.clear();
  return WriteBytes(file_, at, block_);
}

void BulkCounts::NoteFreed(uint64_t cluster) {
  if (freed_.empty() || freed_.back().end() != cluster) freed_.push_back({cluster, 0});
  ++freed_.back().count;
}

}  // namespace skiff::qcow2
