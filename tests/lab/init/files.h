#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace skiff::lab {

// The whole content of a file; made for /proc, /sys and small files.
Result<std::string> ReadFile(const std::string& path);

// Writes all of `text` to an open descriptor.
Result<void> WriteAll(int fd, std::string_view text);

// "a\0b c\0" becomes {"a", "b c"}: each string ends with its separator. One that lacks it at the
// end of the text counts too.
std::vector<std::string> SplitAt(char separator, std::string_view text);

}  // namespace skiff::lab
