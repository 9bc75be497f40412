#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "disk/qcow2/table_cache.h"

namespace skiff::qcow2 {

// The L1 table or the refcount table: whole in memory, in host order, with the sectors of it that
// the file does not have yet. Does no I/O and no locking.
class TopTable {
 public:
  TopTable() = default;
  // `bytes`: as they are in the file at `at`.
  TopTable(FileOffset at, std::span<const std::byte> bytes);

  FileOffset at() const { return at_; }
  uint64_t size() const { return entries_.size(); }
  uint64_t operator[](uint64_t index) const { return entries_[index]; }
  std::span<const uint64_t> entries() const { return entries_; }
  // As TableCache::SetBe64().
  void Set(uint64_t index, uint64_t value, uint64_t barrier);

  void TakeDirty(std::vector<MetadataWrite>& writes);
  void EndWrite(bool success);

 private:
  FileOffset at_;
  std::vector<uint64_t> entries_;
  std::map<uint64_t, uint64_t> dirty_;  // sector to barrier
  std::map<uint64_t, uint64_t> taken_;
};

}  // namespace skiff::qcow2
