#pragma once

#include <string>
#include <vector>

#include "base/result.h"

namespace skiff::bench {

// A whole file of /proc or debugfs, which tell no size beforehand.
Result<std::string> ReadTextFile(const std::string& path);

// The names in a directory, without `.` and `..`, in no order; empty if there is none.
std::vector<std::string> NamesIn(const std::string& directory);

}  // namespace skiff::bench
