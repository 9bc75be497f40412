#pragma once

#include <algorithm>
#include <span>
#include <vector>

#include "disk/file.h"
#include "disk/qcow2/entry.h"
#include "disk/qcow2/reserve.h"
#include "disk/qcow2/sole_references.h"

namespace skiff::qcow2 {

// An L1 table's L2 tables and what they refer to, taken as a whole: one table at a time is read.
// For an image that nobody else uses, whose L2 tables are not in any cache.
class TableTree {
 public:
  TableTree(File& file, const Geometry& geometry) : file_(file), geometry_(geometry) {}

  // Calls visit(run) for each L2 table and each stretch of clusters that entries refer to. A
  // cluster that several compressed ones share comes once for each. kCorrupt if an entry can't be.
  template <typename Visit>
  Result<void> ForEachReference(std::span<const uint64_t> l1, Visit visit) {
    for (const uint64_t entry : l1) {
      if (entry == 0) continue;
      TRY(Load(entry));
      TRY(visit(ClusterRun{at_.value() >> geometry_.cluster_bits(), 1}));
      for (size_t word = 0; word < table_.size();) {
        const ClusterRun run = TRY(NextRun(word));
        if (run.count != 0) TRY(visit(run));
      }
    }
    return {};
  }

  // Takes the COPIED flag from all entries of the L2 tables, in the file.
  Result<void> ClearCopied(std::span<const uint64_t> l1);
  // Sets the flag in the L2 tables and in `l1` exactly where the count is 1. Tables that others
  // refer to are left alone.
  Result<void> SetCopied(std::span<uint64_t> l1, SoleReferences& sole);

 private:
  size_t step() const { return geometry_.l2_entry_size() / sizeof(Be64); }
  Result<void> Load(uint64_t l1_entry);
  Result<void> Store();
  // What the entry at `word` refers to, and those behind it while their clusters follow each
  // other; `word` is then behind them. Count 0: nothing.
  Result<ClusterRun> NextRun(size_t& word) const;
  Result<ClusterRun> ReferenceOf(size_t word) const;
  // Returns whether something changed.
  Result<bool> SetCopiedInTable(SoleReferences& sole);

  File& file_;
  const Geometry geometry_;
  FileOffset at_;
  std::vector<Be64> table_;
};

// All that an L1 table's tree refers to, each batch in the order of places, so that counts can be
// changed block by block. What is one batch is remembered, and read only once.
class ReferenceBatches {
 public:
  // `l1` must outlive it.
  ReferenceBatches(File& file, const Geometry& geometry, std::span<const uint64_t> l1)
      : tree_(file, geometry), l1_(l1) {}

  // Calls visit(std::span<const ClusterRun>) for each batch.
  template <typename Visit>
  Result<void> ForEach(Visit visit) {
    if (complete_) return visit(std::span<const ClusterRun>(runs_));
    bool one_batch = true;
    runs_.clear();
    const auto add = [&](ClusterRun run) -> Result<void> {
      if (!runs_.empty() && runs_.back().end() == run.first) {
        runs_.back().count += run.count;
        return {};
      }
      if (runs_.size() == kMostRuns) {
        one_batch = false;
        TRY(visit(Sorted()));
        runs_.clear();
      }
      runs_.push_back(run);
      return {};
    };
    TRY(tree_.ForEachReference(l1_, add));
    complete_ = one_batch;
    return visit(Sorted());
  }

 private:
  static constexpr size_t kMostRuns = 256 * 1024;  // 4 MiB

  std::span<const ClusterRun> Sorted() {
    const auto before = [](const ClusterRun& a, const ClusterRun& b) { return a.first < b.first; };
    if (!std::is_sorted(runs_.begin(), runs_.end(), before))
      std::sort(runs_.begin(), runs_.end(), before);
    return runs_;
  }

  TableTree tree_;
  const std::span<const uint64_t> l1_;
  std::vector<ClusterRun> runs_;
  bool complete_ = false;  // runs_ is all
};

}  // namespace skiff::qcow2
