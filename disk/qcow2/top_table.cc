#include "disk/qcow2/top_table.h"

#include <algorithm>
#include <cstring>

#include "base/endian.h"

namespace skiff::qcow2 {
namespace {

constexpr uint64_t kEntriesPerSector = kSectorSize / sizeof(Be64);

}  // namespace

TopTable::TopTable(FileOffset at, std::span<const std::byte> bytes)
    : at_(at), entries_(bytes.size() / sizeof(Be64)) {
  for (size_t i = 0; i < entries_.size(); ++i) {
    Be64 entry;
    std::memcpy(&entry, bytes.data() + i * sizeof(entry), sizeof(entry));
    entries_[i] = entry;
  }
}

void TopTable::Set(uint64_t index, uint64_t value, uint64_t barrier) {
  entries_[index] = value;
  uint64_t& latest = dirty_[index / kEntriesPerSector];
  latest = std::max(latest, barrier);
}

void TopTable::TakeDirty(std::vector<MetadataWrite>& writes) {
  for (const auto& [sector, barrier] : dirty_) {
    const uint64_t first = sector * kEntriesPerSector;
    const uint64_t count = std::min(kEntriesPerSector, size() - first);
    MetadataWrite write{at_ + first * sizeof(Be64), std::vector<std::byte>(count * sizeof(Be64)),
                        barrier};
    for (uint64_t i = 0; i < count; ++i) {
      const Be64 entry(entries_[first + i]);
      std::memcpy(write.bytes.data() + i * sizeof(entry), &entry, sizeof(entry));
    }
    writes.push_back(std::move(write));
  }
  taken_ = std::move(dirty_);
  dirty_.clear();
}

void TopTable::EndWrite(bool success) {
  if (!success) {
    for (const auto& [sector, barrier] : taken_) {
      uint64_t& latest = dirty_[sector];
      latest = std::max(latest, barrier);
    }
  }
  taken_.clear();
}

}  // namespace skiff::qcow2
