#include "disk/tool/img/one_image.h"

namespace skiff::tool {

Result<ImageSource> SourceOf(const Arguments& arguments, size_t index, const char* cache_option) {
  const std::string& name = arguments.names()[index];
  const std::string cache = arguments.Value(cache_option);
  const std::string format = arguments.Value("f");
  if (arguments.Has("image-opts") && !format.empty())
    return Invalid("--image-opts and --format are mutually exclusive");
  ImageSource source = arguments.Has("image-opts") ? TRY(ParseImageOptions(name, cache))
                                                   : TRY(ParseSource(name, format, cache));
  source.force_share = arguments.Has("force-share");
  return source;
}

}  // namespace skiff::tool
