#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "disk/file.h"
#include "disk/qcow2/geometry.h"

namespace skiff::qcow2 {

// Which clusters have a reference count of 1, a bit for each. For an image whose counts nobody
// changes meanwhile, and which are not in any cache. Reads a refcount block once; holds a few MiB.
class SoleReferences {
 public:
  // `table`: the refcount table's entries.
  SoleReferences(File& file, const Geometry& geometry, std::span<const uint64_t> table)
      : file_(file),
        geometry_(geometry),
        table_(table.begin(), table.end()),
        known_(table.size() + 1) {}

  // The bits of all clusters that the refcount block `index` counts, the lowest first; valid until
  // the next call. Where there is no block, no count is 1.
  Result<std::span<const uint64_t>> BitsOf(uint64_t index);
  Result<bool> Has(uint64_t cluster);

  static bool IsSet(std::span<const uint64_t> bits, uint64_t n) {
    return (bits[n / 64] >> (n % 64) & 1) != 0;
  }

 private:
  Result<void> Fill(uint64_t index, std::vector<uint64_t>& bits);

  File& file_;
  const Geometry geometry_;
  const std::vector<uint64_t> table_;
  std::vector<std::vector<uint64_t>> known_;  // by index in the table; empty: not known
  uint64_t known_words_ = 0;
  std::vector<std::byte> block_;
};

}  // namespace skiff::qcow2
