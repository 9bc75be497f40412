#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "disk/file.h"
#include "disk/qcow2/geometry.h"
#include "disk/qcow2/reserve.h"

namespace skiff::qcow2 {

// Changes the reference counts of many clusters, straight in the file's refcount blocks: whole
// blocks are read, changed by runs, and written again. For an image that nobody else uses, whose
// counts are not in any cache. Holds a few MiB.
class BulkCounts {
 public:
  // `table`: the refcount table's entries.
  BulkCounts(File& file, const Geometry& geometry, std::span<const uint64_t> table)
      : file_(file), geometry_(geometry), table_(table.begin(), table.end()) {}

  // kOutOfRange if some count can't become one larger. kCorrupt if one is not there, or 0.
  Result<void> CheckRaise(ClusterRun run) { return ForEachBlock(run, Action::kCheckRaise); }
  // Raises or lowers each count by one. Errors as above. What reaches 0 is in freed() then.
  Result<void> Raise(ClusterRun run) { return ForEachBlock(run, Action::kRaise); }
  Result<void> Lower(ClusterRun run) { return ForEachBlock(run, Action::kLower); }
  // Whether the count is 1; what cannot be found out is not.
  Result<bool> IsOne(uint64_t cluster);

  // Writes all changes to the file.
  Result<void> Write();
  std::vector<ClusterRun> TakeFreed() { return std::exchange(freed_, {}); }

 private:
  struct Block {
    std::vector<std::byte> bytes;
    bool dirty = false;
  };
  enum class Action : uint8_t { kCheckRaise, kRaise, kLower };

  Result<void> ForEachBlock(ClusterRun run, Action action);
  // [first, first + count): places of the counts in the block.
  Result<void> CheckRaiseInBlock(const Block& block, uint64_t first, uint64_t count) const;
  Result<void> RaiseInBlock(Block& block, uint64_t first, uint64_t count) const;
  void LowerInBlock(Block& block, uint64_t first, ClusterRun run);
  Result<Block*> BlockOf(uint64_t index);
  uint64_t Most() const { return ~uint64_t{0} >> (64 - geometry_.refcount_bits()); }
  void NoteFreed(uint64_t cluster);

  File& file_;
  const Geometry geometry_;
  const std::vector<uint64_t> table_;
  std::map<uint64_t, Block> blocks_;  // by index in the table
  Block* last_ = nullptr;             // the one asked for last; null: none
  uint64_t last_index_ = 0;
  std::vector<ClusterRun> freed_;
};

}  // namespace skiff::qcow2
