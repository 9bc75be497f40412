#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>

#include "base/endian.h"

namespace skiff::pci {

// What a read of nothing answers.
inline void FillWithOnes(std::span<std::byte> data) {
  std::fill(data.begin(), data.end(), std::byte{0xff});
}

// Bytes [offset, offset + data.size()) of a register block; all-ones past its end.
inline void ReadSlice(std::span<const std::byte> block, uint64_t offset,
                      std::span<std::byte> data) {
  FillWithOnes(data);
  if (offset >= block.size()) return;
  const auto source = block.subspan(offset);
  std::copy_n(source.begin(), std::min(source.size(), data.size()), data.begin());
}

// The little-endian value of up to 8 bytes.
inline uint64_t ToValue(std::span<const std::byte> data) {
  std::array<std::byte, sizeof(Le64)> padded{};
  std::copy_n(data.begin(), std::min(data.size(), padded.size()), padded.begin());
  return std::bit_cast<Le64>(padded);
}

}  // namespace skiff::pci
