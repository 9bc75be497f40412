#include "disk/qcow2/decoded_clusters.h"

#include <algorithm>

#include "base/arith.h"

namespace skiff::qcow2 {
namespace {

constexpr uint64_t kBytes = kMiB;
constexpr uint64_t kFewest = 2;
constexpr uint64_t kMost = 32;  // looked through one by one

}  // namespace

DecodedClusters::DecodedClusters(uint64_t cluster_size)
    : most_(std::clamp(kBytes / cluster_size, kFewest, kMost)) {}

DecodedCluster DecodedClusters::Find(FileOffset source) {
  MutexLock lock(mutex_);
  const auto found = std::find_if(known_.begin(), known_.end(),
                                  [&](const Known& one) { return one.source == source; });
  if (found == known_.end()) return nullptr;
  known_.splice(known_.begin(), known_, found);
  return found->cluster;
}

void DecodedClusters::Insert(FileOffset source, DecodedCluster cluster) {
  MutexLock lock(mutex_);
  known_.push_front({source, std::move(cluster)});
  if (known_.size() > most_) known_.pop_back();
}

void DecodedClusters::Clear() {
  MutexLock lock(mutex_);
  known_.clear();
}

}  // namespace skiff::qcow2
