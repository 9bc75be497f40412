#pragma once

#include <cstring>
#include <span>
#include <vector>

#include "disk/qcow2/bulk_counts.h"
#include "disk/qcow2/entry.h"

namespace skiff::qcow2 {

// An L1 table's L2 tables and what they refer to, taken as a whole: one table at a time is read.
// For an image that nobody else uses, whose L2 tables are not in any cache.
class TableTree {
 public:
  TableTree(File& file, const Geometry& geometry) : file_(file), geometry_(geometry) {}

  // Calls visit(run) for each L2 table and each stretch of clusters that an entry refers to. A
  // cluster that several compressed ones share comes once for each. kCorrupt if an entry can't be.
  template <typename Visit>
  Result<void> ForEachReference(std::span<const uint64_t> l1, Visit visit) {
    for (const uint64_t entry : l1) {
      if (entry == 0) continue;
      TRY(Load(entry));
      TRY(visit(ClusterRun{at_.value() >> geometry_.cluster_bits(), 1}));
      ClusterRun run{0, 0};
      for (size_t n = 0; n < table_.size(); n += step()) {
        const uint64_t bits = table_[n];
        if (bits == 0) continue;
        const ClusterRun next = IsPlain(bits) ? PlainRun(bits) : TRY(ReferenceOf(n));
        if (next.count == 0) continue;
        if (run.count != 0 && next.first == run.end()) {
          run.count += next.count;
          continue;
        }
        if (run.count != 0) TRY(visit(run));
        run = next;
      }
      if (run.count != 0) TRY(visit(run));
    }
    return {};
  }

  // Takes the COPIED flag from all entries of the L2 tables, in the file.
  Result<void> ClearCopied(std::span<const uint64_t> l1);
  // Sets the flag in the L2 tables and in `l1` exactly where the count is 1. Tables that others
  // refer to are left alone.
  Result<void> SetCopied(std::span<uint64_t> l1, BulkCounts& counts);

 private:
  size_t step() const { return geometry_.l2_entry_size() / sizeof(Be64); }
  Result<void> Load(uint64_t l1_entry);
  Result<void> Store();
  Result<bool> SetCopiedInTable(BulkCounts& counts);
  // What nearly all entries are: data in a cluster, and no more to be looked at.
  bool IsPlain(uint64_t bits) const {
    const uint64_t low = geometry_.cluster_size() - 1;
    return (bits & (~(kCopied | kOffsetMask) | low)) == 0 && !geometry_.extended_l2();
  }
  ClusterRun PlainRun(uint64_t bits) const {
    return {(bits & kOffsetMask) >> geometry_.cluster_bits(), (bits & kOffsetMask) != 0 ? 1u : 0u};
  }
  // Count 0: none.
  Result<ClusterRun> ReferenceOf(size_t word) const;

  File& file_;
  const Geometry geometry_;
  FileOffset at_;
  std::vector<Be64> table_;
};

}  // namespace skiff::qcow2
