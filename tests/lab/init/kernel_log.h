#pragma once

#include <string_view>

namespace skiff::lab {

// A line in the kernel's log, which tests/lab/run shows when the lab fails. The console shows
// failures only; the kernel adds the time.
void LogStep(std::string_view message);
void LogFailure(std::string_view message);

}  // namespace skiff::lab
