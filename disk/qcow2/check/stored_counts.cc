#include "disk/qcow2/check/stored_counts.h"

#include <algorithm>

#include "disk/qcow2/refcount_block.h"
#include "disk/qcow2/table_cache.h"

namespace skiff::qcow2 {

Result<void> StoredCounts::LoadTable() {
  const FileOffset at = header_.refcount_table_offset;
  const uint64_t bytes = uint64_t{header_.refcount_table_clusters}
                         << header_.geometry.cluster_bits();
  // So that a small file never takes much memory. What is past its end reads as zeroes.
  const uint64_t end = file_.size();
  const uint64_t there = std::min(bytes, end - std::min(end, at.value()));
  std::vector<Be64> raw(there / sizeof(Be64));
  TRY(ReadBytes(file_, at, std::as_writable_bytes(std::span(raw))));
  table_.assign(raw.begin(), raw.end());
  return {};
}

std::optional<FileOffset> StoredCounts::BlockAt(uint64_t index) const {
  if (index >= table_.size()) return std::nullopt;
  const FileOffset block(table_[index] & kRefcountBlockOffsetMask);
  const bool usable = block.value() != 0 && header_.geometry.IsAligned(block);
  if (!usable || block.value() >= file_.size()) return std::nullopt;
  return block;
}

Result<std::span<const std::byte>> StoredCounts::Block(uint64_t index) {
  if (index == loaded_) return std::span<const std::byte>(block_);
  const std::optional<FileOffset> at = BlockAt(index);
  if (!at) {
    const bool aligned =
        index >= table_.size() ||
        header_.geometry.IsAligned(FileOffset(table_[index] & kRefcountBlockOffsetMask));
    if (!aligned) return Corrupt("its offset is not a cluster's");
    return std::span<const std::byte>();
  }
  block_.resize(header_.geometry.cluster_size());
  changed_.assign(block_.size() / kSectorSize, false);
  loaded_ = kNone;
  TRY(ReadBytes(file_, *at, block_));
  loaded_ = index;
  return std::span<const std::byte>(block_);
}

Result<uint64_t> StoredCounts::At(uint64_t cluster) {
  const std::span<const std::byte> block = TRY(Block(cluster / per_block()));
  if (block.empty()) return 0;
  return RefcountAt(block, header_.geometry.refcount_order(), cluster % per_block());
}

void StoredCounts::Set(uint64_t cluster, uint64_t count) {
  const uint32_t order = header_.geometry.refcount_order();
  const uint64_t index = cluster % per_block();
  SetRefcountAt(block_, order, index, count);
  changed_[(index << order) / 8 / kSectorSize] = true;
}

Result<void> StoredCounts::Write() {
  const FileOffset at = BlockAt(loaded_).value();
  for (size_t sector = 0; sector < changed_.size(); ++sector) {
    if (!changed_[sector]) continue;
    const size_t first = sector * kSectorSize;
    TRY(WriteBytes(file_, at + first, std::span(block_).subspan(first, kSectorSize)));
    changed_[sector] = false;
  }
  return {};
}

}  // namespace skiff::qcow2
