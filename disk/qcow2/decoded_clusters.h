#pragma once

#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>
#include <vector>

#include "base/mutex.h"
#include "base/position.h"

namespace skiff::qcow2 {

using DecodedCluster = std::shared_ptr<const std::vector<std::byte>>;

// The last few decompressed clusters, so that reading one in small pieces decodes it once.
// Thread-safe.
class DecodedClusters {
 public:
  explicit DecodedClusters(uint64_t cluster_size);

  // By where the encoded bytes are; null: not here.
  DecodedCluster Find(FileOffset source) EXCLUDES(mutex_);
  void Insert(FileOffset source, DecodedCluster cluster) EXCLUDES(mutex_);
  // Encoded bytes in these places are others from now on.
  void Clear() EXCLUDES(mutex_);

 private:
  struct Known {
    FileOffset source;
    DecodedCluster cluster;
  };
  const size_t most_;
  Mutex mutex_;
  std::list<Known> known_ GUARDED_BY(mutex_);  // most recently used first
};

}  // namespace skiff::qcow2
