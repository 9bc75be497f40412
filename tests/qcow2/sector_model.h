#pragma once

#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

namespace skiff::test {

// What the sectors of a disk may hold: the value that the last completed flush covered, and those
// of later operations. A value fills its sector with itself; 0 is zeroes.
class SectorModel {
 public:
  static constexpr uint64_t kSector = 512;

  explicit SectorModel(std::vector<uint64_t> first) {
    for (const uint64_t value : first) allowed_.push_back({value});
  }

  uint64_t sectors() const { return allowed_.size(); }
  uint64_t latest(uint64_t sector) const { return allowed_[sector].back(); }
  void Add(uint64_t sector, uint64_t value) { allowed_[sector].push_back(value); }
  // All that was done is durable now.
  void Flush() {
    for (auto& values : allowed_) values = {values.back()};
  }
  bool Allows(uint64_t sector, uint64_t value) const {
    for (const uint64_t one : allowed_[sector])
      if (one == value) return true;
    return false;
  }

 private:
  std::vector<std::vector<uint64_t>> allowed_;
};

// ~0: the sector is not filled with one value.
inline uint64_t ValueOf(std::span<const std::byte> sector) {
  uint64_t first = 0;
  std::memcpy(&first, sector.data(), sizeof(first));
  for (size_t at = 0; at < sector.size(); at += sizeof(first)) {
    uint64_t value = 0;
    std::memcpy(&value, sector.data() + at, sizeof(value));
    if (value != first) return ~uint64_t{0};
  }
  return first;
}

inline void Fill(std::span<std::byte> sector, uint64_t value) {
  for (size_t at = 0; at < sector.size(); at += sizeof(value))
    std::memcpy(sector.data() + at, &value, sizeof(value));
}

}  // namespace skiff::test
