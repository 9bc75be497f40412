#pragma once

#include <cstdint>
#include <cstring>
#include <span>

#include "base/endian.h"

namespace skiff::qcow2 {

// Counters of 1 << order bits (order 0 to 6) in a refcount block, or a part of one.
// qcow2, "Host cluster management": less than a byte wide, the lower bits come first.

inline uint64_t RefcountAt(std::span<const std::byte> block, uint32_t order, uint64_t index) {
  if (order < 3) {
    const uint32_t bits = 1u << order;
    const auto byte = static_cast<uint32_t>(block[index >> (3 - order)]);
    const auto shift = static_cast<uint32_t>((index << order) & 7);
    return (byte >> shift) & ((1u << bits) - 1);
  }
  if (order == 4) {  // what nearly all images have
    Be16 count;
    std::memcpy(&count, block.data() + index * sizeof(count), sizeof(count));
    return count;
  }
  const size_t width = size_t{1} << (order - 3);
  uint64_t value = 0;
  for (size_t i = 0; i < width; ++i)
    value = value << 8 | static_cast<uint64_t>(block[index * width + i]);
  return value;
}

inline void SetRefcountAt(std::span<std::byte> block, uint32_t order, uint64_t index,
                          uint64_t count) {
  if (order < 3) {
    const uint32_t bits = 1u << order;
    const auto shift = static_cast<uint32_t>((index << order) & 7);
    const uint32_t mask = ((1u << bits) - 1) << shift;
    std::byte& byte = block[index >> (3 - order)];
    const uint32_t kept = static_cast<uint32_t>(byte) & ~mask;
    byte = static_cast<std::byte>(kept | ((static_cast<uint32_t>(count) << shift) & mask));
    return;
  }
  if (order == 4) {
    const Be16 stored(static_cast<uint16_t>(count));
    std::memcpy(block.data() + index * sizeof(stored), &stored, sizeof(stored));
    return;
  }
  const size_t width = size_t{1} << (order - 3);
  for (size_t i = width; i-- != 0; count >>= 8)
    block[index * width + i] = static_cast<std::byte>(count & 0xff);
}

}  // namespace skiff::qcow2
