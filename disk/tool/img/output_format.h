#pragma once

#include "disk/tool/common/arguments.h"

namespace skiff::tool {

// --output=human|json; kInvalid in QEMU's words.
inline Result<bool> WantsJson(const Arguments& arguments) {
  const std::string format = arguments.Value("output", "human");
  if (format == "json") return true;
  if (format == "human") return false;
  return Invalid("--output must be used with human or json as argument.");
}

}  // namespace skiff::tool
