#include "disk/qcow2/check/reference_counts.h"

#include <algorithm>

namespace skiff::qcow2 {

uint64_t ReferenceCounts::AddLarge(uint64_t cluster, uint8_t& count, uint64_t times) {
  const uint64_t before = count == kLarge ? large_[cluster] : count;
  const uint64_t added = std::min(times, most_ - before);
  Set(cluster, before + added);
  return times - added;
}

void ReferenceCounts::Set(uint64_t cluster, uint64_t count) {
  uint8_t& byte = ChunkOf(cluster)[cluster % kChunk];
  if (byte == kLarge && count < kLarge) large_.erase(cluster);
  if (count >= kLarge) large_[cluster] = count;
  byte = count < kLarge ? static_cast<uint8_t>(count) : kLarge;
}

uint64_t ReferenceCounts::End() const {
  uint64_t end = 0;
  for (const auto& [index, chunk] : chunks_) {
    if ((index + 1) * kChunk <= end) continue;
    const auto last =
        std::find_if(chunk->rbegin(), chunk->rend(), [](uint8_t c) { return c != 0; });
    const auto used = static_cast<uint64_t>(chunk->rend() - last);
    if (used != 0) end = std::max(end, index * kChunk + used);
  }
  return end;
}

}  // namespace skiff::qcow2
