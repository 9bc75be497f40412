#pragma once

#include "disk/tool/common/arguments.h"
#include "disk/tool/common/open_image.h"

namespace skiff::tool {

// The image of a subcommand that has one: its name is argument `index`, its options are -f,
// --image-opts, -U and the cache mode of option `cache`.
Result<ImageSource> SourceOf(const Arguments& arguments, size_t index = 0,
                             const char* cache_option = "t");

}  // namespace skiff::tool
