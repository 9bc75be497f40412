#pragma once

#include <memory>
#include <string>

#include "disk/qcow2/header.h"
#include "disk/tool/io/disk.h"
#include "disk/tool/io/image_plan.h"

namespace skiff::io {

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

// Of the file as it is, whoever has it open.
Result<qcow2::Header> ReadHeader(const std::string& path);

}  // namespace skiff::io
