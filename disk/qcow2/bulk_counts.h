#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "disk/file.h"
#include "disk/qcow2/geometry.h"
#include "disk/qcow2/reserve.h"

namespace skiff::qcow2 {

// Changes the reference counts of many clusters, straight in the file's refcount blocks: a block is
// read, all its counts are changed, and it is written again. For an image that nobody else uses,
// whose counts are not in any cache. Holds one block: runs should come in the order of their
// places. A cluster that is in several runs changes as many times.
class BulkCounts {
 public:
  // `table`: the refcount table's entries.
  BulkCounts(File& file, const Geometry& geometry, std::span<const uint64_t> table)
      : file_(file), geometry_(geometry), table_(table.begin(), table.end()) {}

  // Whether Raise() would succeed, as far as these runs go. kOutOfRange if a count can't become as
  // large; kCorrupt if one is 0 or is not there.
  Result<void> CheckRaise(std::span<const ClusterRun> runs) { return Change(kCheckRaise, runs); }
  // By one, each. After an error some have changed.
  Result<void> Raise(std::span<const ClusterRun> runs) { return Change(kRaise, runs); }
  // What becomes free is given back to the host before its count is 0. One that is 0 already stays.
  Result<void> Lower(std::span<const ClusterRun> runs) { return Change(kLower, runs); }

  // No cluster below has become free.
  uint64_t first_freed() const { return first_freed_; }

 private:
  enum Kind { kCheckRaise, kRaise, kLower };
  Result<void> Change(Kind kind, std::span<const ClusterRun> runs);
  Result<void> ChangeRun(Kind kind, ClusterRun run);
  Result<void> ChangeInBlock(Kind kind, ClusterRun run);
  Result<void> MoveTo(Kind kind, uint64_t index);
  Result<void> FinishBlock(Kind kind);
  Error Unraisable(uint64_t count) const;
  void NoteFreed(uint64_t cluster);
  uint64_t Most() const { return ~uint64_t{0} >> (64 - geometry_.refcount_bits()); }
  FileOffset BlockAt(uint64_t index) const;  // 0: there is none

  File& file_;
  const Geometry geometry_;
  const std::vector<uint64_t> table_;
  std::vector<std::byte> block_;
  std::optional<uint64_t> index_;  // of the block, in the table
  std::vector<ClusterRun> freed_;  // by the changes in the block
  uint64_t first_freed_ = ~uint64_t{0};
};

}  // namespace skiff::qcow2
