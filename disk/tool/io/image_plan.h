#pragma once

#include <optional>
#include <string>

#include "disk/open.h"
#include "disk/tool/io/block_options.h"

namespace skiff::io {

// What the options of `skiff-io` and of its commands `open` and `reopen` say about an image.
struct ImageRequest {
  std::optional<std::string> name;
  BlockOptions options;  // they win over what the name says
  CacheMode cache = CacheMode::kWriteback;
  bool read_only = false;
  bool force_share = false;  // do not lock, and ignore the locks of others
  bool snapshot = false;     // what is written shall be gone at the end
  bool native_aio = false;
  bool discard = true;  // false: discards do nothing
};

// What is to be opened, and how.
struct ImagePlan {
  OpenOptions options;  // without a format, it is guessed
  bool discard = true;
};

// Makes sense of a request; no file is looked at. The error is QEMU's.
Result<ImagePlan> MakePlan(const ImageRequest& request);

// Whether this is an option that another value can be given while the image is open.
bool CanChange(const std::string& option);

}  // namespace skiff::io
