#pragma once

namespace skiff {

inline constexpr const char* kVersion = "0.1.0";

}  // namespace skiff
