#include "disk/qcow2/reserve.h"

#include <algorithm>
#include <iterator>

namespace skiff::qcow2 {

ClusterRun Reserve::Take(uint64_t most) {
  const auto lowest = runs_.begin();
  const ClusterRun taken{lowest->first, std::min(lowest->second, most)};
  const ClusterRun rest{taken.end(), lowest->second - taken.count};
  runs_.erase(lowest);
  if (rest.count != 0) runs_.emplace(rest.first, rest.count);
  return taken;
}

std::optional<ClusterRun> Reserve::TakeRow(uint64_t count) {
  const auto found = std::find_if(runs_.begin(), runs_.end(),
                                  [&](const auto& run) { return run.second >= count; });
  if (found == runs_.end()) return std::nullopt;
  const ClusterRun taken{found->first, count};
  const ClusterRun rest{taken.end(), found->second - count};
  runs_.erase(found);
  if (rest.count != 0) runs_.emplace(rest.first, rest.count);
  return taken;
}

void Reserve::Add(ClusterRun run) {
  if (run.count == 0) return;
  auto after = runs_.lower_bound(run.first);
  if (after != runs_.end() && after->first == run.end()) {
    run.count += after->second;
    after = runs_.erase(after);
  }
  if (after != runs_.begin()) {
    const auto before = std::prev(after);
    if (before->first + before->second == run.first) {
      before->second += run.count;
      return;
    }
  }
  runs_.emplace(run.first, run.count);
}

std::vector<ClusterRun> Reserve::TakeAll() {
  std::vector<ClusterRun> all;
  all.reserve(runs_.size());
  for (const auto& [first, count] : runs_) all.push_back({first, count});
  runs_.clear();
  return all;
}

}  // namespace skiff::qcow2
