#pragma once

#include <cstdint>

#include "base/position.h"
#include "disk/qcow2/format.h"

namespace skiff::qcow2 {

// All sizes that follow from cluster_bits, refcount_order and extended L2 entries. Built only from
// values in their ranges, so that no shift here can overflow.
//
// A cluster has one subcluster, itself, unless L2 entries are extended: then it has 32. The code
// knows no other difference between the two kinds of image than that (and the entries' encoding).
class Geometry {
 public:
  // kUnsupported or kCorrupt outside: cluster_bits 9 to 21 (14 to 21 if extended), refcount_order
  // 0 to 6.
  static Result<Geometry> Make(uint32_t cluster_bits, uint32_t refcount_order, bool extended_l2);

  uint32_t cluster_bits() const { return cluster_bits_; }
  uint64_t cluster_size() const { return uint64_t{1} << cluster_bits_; }
  bool extended_l2() const { return extended_l2_; }

  uint32_t subclusters() const { return extended_l2_ ? 32 : 1; }  // in a cluster
  uint32_t subcluster_bits() const { return cluster_bits_ - (extended_l2_ ? 5 : 0); }
  uint64_t subcluster_size() const { return uint64_t{1} << subcluster_bits(); }

  uint32_t l2_entry_size() const { return extended_l2_ ? 16 : 8; }  // bytes
  uint64_t l2_entries() const { return cluster_size() / l2_entry_size(); }
  uint64_t bytes_per_l2() const { return l2_entries() << cluster_bits_; }  // of the disk

  uint32_t refcount_order() const { return refcount_order_; }
  uint32_t refcount_bits() const { return 1u << refcount_order_; }
  uint64_t refcounts_per_block() const { return cluster_size() * 8 / refcount_bits(); }

  uint64_t L1Index(DiskOffset offset) const { return offset.value() / bytes_per_l2(); }
  uint64_t L2Index(DiskOffset offset) const {
    return (offset.value() >> cluster_bits_) & (l2_entries() - 1);
  }
  uint64_t InCluster(DiskOffset offset) const { return offset.value() & (cluster_size() - 1); }
  uint64_t InCluster(FileOffset offset) const { return offset.value() & (cluster_size() - 1); }
  bool IsAligned(FileOffset offset) const { return InCluster(offset) == 0; }
  uint64_t ClustersFor(uint64_t bytes) const {
    return (bytes >> cluster_bits_) + ((bytes & (cluster_size() - 1)) != 0);
  }

  // Where a compressed entry's 62-bit descriptor parts: offset below, sector count above.
  // qcow2, "Compressed Clusters Descriptor".
  uint32_t compressed_offset_bits() const { return 62 - (cluster_bits_ - 8); }

 private:
  Geometry(uint32_t cluster_bits, uint32_t refcount_order, bool extended_l2)
      : cluster_bits_(cluster_bits), refcount_order_(refcount_order), extended_l2_(extended_l2) {}

  uint32_t cluster_bits_;
  uint32_t refcount_order_;
  bool extended_l2_;
};

}  // namespace skiff::qcow2
