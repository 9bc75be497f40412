#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

namespace skiff {

// The devices of this folder have registers of one byte each; wider accesses are not understood.
inline bool IsByteAccess(std::span<const std::byte> data) { return data.size() == 1; }

inline void ReadAllOnes(std::span<std::byte> data) {
  std::fill(data.begin(), data.end(), std::byte{0xff});
}

}  // namespace skiff
