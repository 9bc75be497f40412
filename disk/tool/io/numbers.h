#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace skiff::io {

// The words of a command line: parted by blanks, which nothing quotes.
std::vector<std::string> SplitWords(std::string_view line);

// Bytes: "4096", "0x1000", "4k", "1.5M", up to 2^63 - 1; suffixes b, k, m, g, t, p, e count in
// powers of 1024. The error is qemu-io's line.
Result<uint64_t> ParseSize(std::string_view text);

// A byte: decimal, octal after 0, hexadecimal after 0x. The error is qemu-io's line.
Result<uint8_t> ParsePattern(const std::string& text);

// "512 bytes", "64 KiB", "1.500 MiB".
std::string FormatSize(double bytes);

}  // namespace skiff::io
