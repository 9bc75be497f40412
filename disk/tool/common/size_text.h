#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"

namespace skiff::tool {

// "1.5G" in bytes: digits, perhaps a fraction, and a suffix b, k, M, G, T, P or E of 1024 each, in
// either case; 0x… without a suffix. kInvalid if it is no size, kOutOfRange if it does not fit into
// 63 bits.
Result<uint64_t> ParseSize(std::string_view text);

// As QEMU shows sizes: "64 MiB", "1.5 GiB", "0 B".
std::string HumanSize(uint64_t bytes);

}  // namespace skiff::tool
