#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

namespace skiff::qcow2 {

// A run of clusters of the file, by number.
struct ClusterRun {
  uint64_t first = 0;
  uint64_t count = 0;
  uint64_t end() const { return first + count; }
};

// Clusters whose count of 1 is durable, that the file is long enough for, and that nothing refers
// to: they can be used without any further order of writing. Does no locking.
class Reserve {
 public:
  bool empty() const { return runs_.empty(); }

  // From the lowest run, at most `most`; must not be empty.
  ClusterRun Take(uint64_t most);
  // Exactly as many in a row, the lowest that there are; nullopt: there is no such row.
  std::optional<ClusterRun> TakeRow(uint64_t count);
  // What Take() gave and nobody used, or new ones. They overlap none that are here.
  void Add(ClusterRun run);
  std::vector<ClusterRun> TakeAll();

 private:
  std::map<uint64_t, uint64_t> runs_;  // first cluster to count; neighbours are joined
};

}  // namespace skiff::qcow2
