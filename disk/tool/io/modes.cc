#include "disk/tool/io/modes.h"

namespace skiff::io {

Result<void> SetCache(const std::string& word, ImageRequest& request) {
  const std::optional<CacheMode> mode = ParseCacheMode(word == "off" ? "none" : word);
  if (!mode) return Invalid("Invalid cache option: " + word);
  request.cache = *mode;
  return {};
}

Result<void> SetDiscard(const std::string& word, ImageRequest& request) {
  const bool on = word == "on" || word == "unmap";
  if (!on && word != "off" && word != "ignore") return Invalid("Invalid discard option: " + word);
  request.discard = on;
  return {};
}

// The thread pool does the I/O, whatever was asked for: results are the same.
Result<void> SetAio(const std::string& word, ImageRequest& request) {
  if (word != "threads" && word != "native" && word != "io_uring")
    return Invalid("Invalid aio option: " + word);
  request.native_aio = word == "native";
  return {};
}

}  // namespace skiff::io
