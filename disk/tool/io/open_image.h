#pragma once

#include <memory>
#include <optional>
#include <string>

#include "disk/open.h"
#include "disk/tool/io/block_options.h"
#include "disk/tool/io/disk.h"

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

struct OpenImage {
  ImageRequest request;
  std::string path;
  ImageFormat format;
  bool discard;
  std::unique_ptr<Disk> disk;
};

// The error is what qemu-io says after its name and a colon; it may have more than one line.
Result<OpenImage> Open(const ImageRequest& request);

// The lines of `info`.
Result<std::string> Describe(const OpenImage& image);

}  // namespace skiff::io
