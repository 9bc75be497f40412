#include "disk/qcow2/geometry.h"

#include <string>

namespace skiff::qcow2 {

Result<Geometry> Geometry::Make(uint32_t cluster_bits, uint32_t refcount_order, bool extended_l2) {
  if (cluster_bits < kMinClusterBits || cluster_bits > kMaxClusterBits)
    return Unsupported("unsupported cluster size: 2^" + std::to_string(cluster_bits));
  if (extended_l2 && cluster_bits < kMinExtendedClusterBits)
    return Unsupported("extended L2 entries need clusters of 16 KiB or more");
  if (refcount_order > 6) return Unsupported("reference counts wider than 64 bits");
  return Geometry(cluster_bits, refcount_order, extended_l2);
}

}  // namespace skiff::qcow2
