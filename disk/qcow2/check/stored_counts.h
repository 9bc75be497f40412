#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "disk/qcow2/check/findings.h"
#include "disk/qcow2/header.h"

namespace skiff::qcow2 {

// The reference counts as the file has them: the refcount table in memory, one block at a time.
// qcow2, "Host cluster management".
class StoredCounts {
 public:
  StoredCounts(File& file, const Header& header) : file_(file), header_(header) {}

  // Reads the table. An error if that fails, or if it is not within the file.
  Result<void> LoadTable();

  std::span<const uint64_t> table() const { return table_; }
  // Where block `index` is. nullopt: there is none, or its entry can't be one. Reserved bits of the
  // entry are not looked at.
  std::optional<FileOffset> BlockAt(uint64_t index) const;

  uint64_t per_block() const { return header_.geometry.refcounts_per_block(); }
  // The count of a cluster; 0 without a block.
  Result<uint64_t> At(uint64_t cluster);
  // The counts of block `index`, as they are in the file. Empty: no block. kCorrupt if its entry is
  // no cluster's offset.
  Result<std::span<const std::byte>> Block(uint64_t index);
  // Changes a count in the block that Block() or At() gave last.
  void Set(uint64_t cluster, uint64_t count);
  // Writes what Set() changed of that block: the sectors that differ.
  Result<void> Write();

 private:
  static constexpr uint64_t kNone = ~uint64_t{0};

  File& file_;
  const Header& header_;
  std::vector<uint64_t> table_;
  std::vector<std::byte> block_;
  std::vector<bool> changed_;  // sectors of block_
  uint64_t loaded_ = kNone;    // which block is in block_
};

}  // namespace skiff::qcow2
