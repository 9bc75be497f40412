#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <unordered_map>

namespace skiff::qcow2 {

// How often each cluster of the file is referred to. Takes a byte for each cluster, and only where
// some are used; counts above 254 have a map. Not thread-safe.
class ReferenceCounts {
 public:
  // `most`: what a counter of the image can hold.
  explicit ReferenceCounts(uint64_t most) : most_(most) {}

  // Returns by how much the count would be above `most`: it stays there.
  uint64_t Add(uint64_t cluster, uint64_t times) {
    uint8_t& count = ChunkOf(cluster)[cluster % kChunk];
    if (count + times < kLarge && count + times <= most_) [[likely]] {
      count = static_cast<uint8_t>(count + times);
      some_shared_ |= count > 1;
      return 0;
    }
    some_shared_ = true;
    return AddLarge(cluster, count, times);
  }
  void Set(uint64_t cluster, uint64_t count);

  uint64_t At(uint64_t cluster) const {
    const auto found = chunks_.find(cluster / kChunk);
    if (found == chunks_.end()) return 0;
    const uint8_t count = (*found->second)[cluster % kChunk];
    return count == kLarge ? large_.find(cluster)->second : count;
  }
  // 1 + the last one with a count; 0: none has one.
  uint64_t End() const;
  // Calls visit(cluster, count) for each cluster of [first, end) in its order. Where there are only
  // zeroes it leaves clusters out.
  template <typename Visit>
  void ForEach(uint64_t first, uint64_t end, Visit visit) const {
    while (first < end) {
      const uint64_t chunk_end = (first / kChunk + 1) * kChunk;
      const uint64_t part_end = end < chunk_end ? end : chunk_end;
      if (const auto found = chunks_.find(first / kChunk); found != chunks_.end()) {
        for (uint64_t n = first; n < part_end; ++n) {
          const uint8_t count = (*found->second)[n % kChunk];
          visit(n, count == kLarge ? large_.find(n)->second : count);
        }
      }
      first = part_end;
    }
  }
  // The counts of [first, end), or of its start: as many as are stored together. Below kLarge they
  // are what At() gives. Empty: they are all 0, up to `next`.
  std::span<const uint8_t> Together(uint64_t first, uint64_t end, uint64_t& next) const {
    next = std::min(end, (first / kChunk + 1) * kChunk);
    const auto found = chunks_.find(first / kChunk);
    if (found == chunks_.end()) return {};
    return std::span(*found->second).subspan(first % kChunk, next - first);
  }
  static constexpr uint8_t kLarge = 255;  // the count is not in a byte

  // Whether some count has been above 1.
  bool some_shared() const { return some_shared_; }

 private:
  static constexpr uint64_t kChunk = 1 << 16;
  using Chunk = std::array<uint8_t, kChunk>;

  Chunk& ChunkOf(uint64_t cluster) {
    const uint64_t index = cluster / kChunk;
    if (index != last_index_ || last_ == nullptr) {
      std::unique_ptr<Chunk>& chunk = chunks_[index];
      if (chunk == nullptr) chunk = std::make_unique<Chunk>();
      last_ = chunk.get();
      last_index_ = index;
    }
    return *last_;
  }
  uint64_t AddLarge(uint64_t cluster, uint8_t& count, uint64_t times);

  const uint64_t most_;
  std::unordered_map<uint64_t, std::unique_ptr<Chunk>> chunks_;
  std::unordered_map<uint64_t, uint64_t> large_;
  Chunk* last_ = nullptr;
  uint64_t last_index_ = 0;
  bool some_shared_ = false;
};

}  // namespace skiff::qcow2
