#include "disk/qcow2/bulk_counts.h"

#include <algorithm>

#include "base/arith.h"
#include "disk/qcow2/refcount_block.h"

namespace skiff::qcow2 {
namespace {

constexpr uint64_t kMostBytes = 4 * kMiB;
constexpr uint32_t kOrder16Bits = 4;

// The width that nearly all images have, without a call for each count.
uint64_t Count16(std::span<const std::byte> block, uint64_t index) {
  return static_cast<uint64_t>(block[2 * index]) << 8 | static_cast<uint64_t>(block[2 * index + 1]);
}

uint64_t CountAt(std::span<const std::byte> block, uint32_t order, uint64_t index) {
  return order == kOrder16Bits ? Count16(block, index) : RefcountAt(block, order, index);
}

void SetCount(std::span<std::byte> block, uint32_t order, uint64_t index, uint64_t count) {
  if (order != kOrder16Bits) return SetRefcountAt(block, order, index, count);
  block[2 * index] = static_cast<std::byte>(count >> 8);
  block[2 * index + 1] = static_cast<std::byte>(count & 0xff);
}

}  // namespace

Result<BulkCounts::Block*> BulkCounts::BlockOf(uint64_t index) {
  if (const auto found = blocks_.find(index); found != blocks_.end()) return &found->second;
  const FileOffset at(index < table_.size() ? table_[index] & kRefcountBlockOffsetMask : 0);
  if (at.value() == 0 || !geometry_.IsAligned(at))
    return Corrupt("a cluster in use has no refcount block");
  if ((blocks_.size() + 1) << geometry_.cluster_bits() > kMostBytes) {
    TRY(Write());
    blocks_.clear();
  }
  Block block{std::vector<std::byte>(geometry_.cluster_size())};
  TRY(ReadBytes(file_, at, block.bytes));
  return &blocks_.emplace(index, std::move(block)).first->second;
}

Result<void> BulkCounts::CheckRaise(ClusterRun run) {
  for (uint64_t cluster = run.first; cluster < run.end(); ++cluster) {
    const uint64_t per_block = geometry_.refcounts_per_block();
    const Block* const block = TRY(BlockOf(cluster / per_block));
    const uint64_t count = CountAt(block->bytes, geometry_.refcount_order(), cluster % per_block);
    if (count == 0) return Corrupt("a cluster in use has a reference count of 0");
    if (count == Most())
      return OutOfRange("reference counts of " + std::to_string(geometry_.refcount_bits()) +
                        " bits are too small for one more snapshot");
  }
  return {};
}

Result<bool> BulkCounts::IsOne(uint64_t cluster) {
  const uint64_t per_block = geometry_.refcounts_per_block();
  const Block* const block = TRY(BlockOf(cluster / per_block));
  return CountAt(block->bytes, geometry_.refcount_order(), cluster % per_block) == 1;
}

Result<void> BulkCounts::Change(ClusterRun run, bool raise) {
  const uint64_t per_block = geometry_.refcounts_per_block();
  while (run.count != 0) {
    const uint64_t index = run.first / per_block;
    const ClusterRun part{run.first, std::min(run.count, (index + 1) * per_block - run.first)};
    Block* const block = TRY(BlockOf(index));
    TRY(ChangeInBlock(*block, index * per_block, part, raise));
    run = {part.end(), run.count - part.count};
  }
  return {};
}

Result<void> BulkCounts::ChangeInBlock(Block& block, uint64_t first, ClusterRun run, bool raise) {
  const uint32_t order = geometry_.refcount_order();
  const uint64_t limit = raise ? Most() : 0;
  block.dirty = true;
  for (uint64_t cluster = run.first; cluster < run.end(); ++cluster) {
    const uint64_t count = CountAt(block.bytes, order, cluster - first);
    if (count == limit) {
      if (raise) return OutOfRange("a reference count is too large");
      continue;  // it is lower already than it should be; that is a leak at worst
    }
    const uint64_t changed = raise ? count + 1 : count - 1;
    SetCount(block.bytes, order, cluster - first, changed);
    if (changed == 0) NoteFreed(cluster);
  }
  return {};
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
