#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/result.h"

namespace skiff::qcow2 {

// qcow2, "Compressed clusters". `type`: the header's compression_type. Thread-safe.

// Fills all of `cluster`; kCorrupt if `encoded` does not hold that. What follows the encoded bytes,
// up to the end of the last sector, is ignored.
Result<void> Decompress(uint8_t type, std::span<const std::byte> encoded,
                        std::span<std::byte> cluster);

}  // namespace skiff::qcow2
