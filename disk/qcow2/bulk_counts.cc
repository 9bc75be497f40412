#include "disk/qcow2/bulk_counts.h"

#include <algorithm>

#include "base/arith.h"
#include "disk/qcow2/refcount_block.h"

namespace skiff::qcow2 {
namespace {

constexpr uint64_t kMostBytes = 4 * kMiB;

}  // namespace

Result<BulkCounts::Block*> BulkCounts::BlockOf(uint64_t index) {
  if (last_ != nullptr && index == last_index_) return last_;
  last_index_ = index;
  if (const auto found = blocks_.find(index); found != blocks_.end()) return last_ = &found->second;
  last_ = nullptr;
  const FileOffset at(index < table_.size() ? table_[index] & kRefcountBlockOffsetMask : 0);
  if (at.value() == 0 || !geometry_.IsAligned(at))
    return Corrupt("a cluster in use has no refcount block");
  if ((blocks_.size() + 1) << geometry_.cluster_bits() > kMostBytes) {
    TRY(Write());
    blocks_.clear();
    last_ = nullptr;
  }
  Block block{std::vector<std::byte>(geometry_.cluster_size())};
  TRY(ReadBytes(file_, at, block.bytes));
  return last_ = &blocks_.emplace(index, std::move(block)).first->second;
}

Result<bool> BulkCounts::IsOne(uint64_t cluster) {
  const uint64_t per_block = geometry_.refcounts_per_block();
  const Block* const block = TRY(BlockOf(cluster / per_block));
  return RefcountAt(block->bytes, geometry_.refcount_order(), cluster % per_block) == 1;
}

Result<void> BulkCounts::ForEachBlock(ClusterRun run, Action action) {
  const uint64_t per_block = geometry_.refcounts_per_block();
  while (run.count != 0) {
    const uint64_t index = run.first / per_block;
    const ClusterRun part{run.first, std::min(run.count, (index + 1) * per_block - run.first)};
    const uint64_t place = run.first % per_block;
    Block& block = *TRY(BlockOf(index));
    switch (action) {
      case Action::kCheckRaise:
        TRY(CheckRaiseInBlock(block, place, part.count));
        break;
      case Action::kRaise:
        TRY(RaiseInBlock(block, place, part.count));
        break;
      case Action::kLower:
        LowerInBlock(block, place, part);
        break;
    }
    run = {part.end(), run.count - part.count};
  }
  return {};
}

Result<void> BulkCounts::CheckRaiseInBlock(const Block& block, uint64_t first,
                                           uint64_t count) const {
  const uint32_t order = geometry_.refcount_order();
  const uint64_t most = Most();
  bool zero = false;
  bool full = false;
  for (uint64_t n = first; n < first + count; ++n) {
    const uint64_t value = RefcountAt(block.bytes, order, n);
    zero |= value == 0;
    full |= value == most;
  }
  if (zero) return Corrupt("a cluster in use has a reference count of 0");
  if (full)
    return OutOfRange("reference counts of " + std::to_string(geometry_.refcount_bits()) +
                      " bits are too small for one more snapshot");
  return {};
}

Result<void> BulkCounts::RaiseInBlock(Block& block, uint64_t first, uint64_t count) const {
  const uint32_t order = geometry_.refcount_order();
  block.dirty = true;
  for (uint64_t n = first; n < first + count; ++n) {
    const uint64_t value = RefcountAt(block.bytes, order, n);
    if (value == Most()) return OutOfRange("a reference count is too large");
    SetRefcountAt(block.bytes, order, n, value + 1);
  }
  return {};
}

// A count that is 0 already is lower than it should be: the cluster is a leak at worst.
void BulkCounts::LowerInBlock(Block& block, uint64_t first, ClusterRun run) {
  const uint32_t order = geometry_.refcount_order();
  block.dirty = true;
  for (uint64_t n = 0; n < run.count; ++n) {
    const uint64_t value = RefcountAt(block.bytes, order, first + n);
    if (value == 0) continue;
    SetRefcountAt(block.bytes, order, first + n, value - 1);
    if (value == 1) NoteFreed(run.first + n);
  }
}

void BulkCounts::NoteFreed(uint64_t cluster) {
  if (freed_.empty() || freed_.back().end() != cluster) freed_.push_back({cluster, 0});
  ++freed_.back().count;
}

Result<void> BulkCounts::Write() {
  for (auto& [index, block] : blocks_) {
    if (!block.dirty) continue;
    TRY(WriteBytes(file_, FileOffset(table_[index] & kRefcountBlockOffsetMask), block.bytes));
    block.dirty = false;
  }
  return {};
}

}  // namespace skiff::qcow2
