#pragma once

#include <optional>
#include <string>

#include "disk/probe.h"
#include "disk/qcow2/create.h"
#include "disk/tool/common/key_values.h"

namespace skiff::tool {

// A new image as `create` and `convert` make it.
struct NewImage {
  std::string name;  // as given
  std::string path;  // of the host's file
  ImageFormat format = ImageFormat::kRaw;
  qcow2::CreateOptions options;  // of a raw image: size and preallocation
  std::optional<uint64_t> size;  // none: not said
  std::string compat;            // as it was said; empty: not said
};

// Takes all of `-o`. kInvalid in QEMU's words, with the file's name, for what is unknown or wrong.
Result<NewImage> ParseNewImage(const std::string& name, ImageFormat format, KeyValues keys);

// "Formatting 'NAME', fmt=…", as QEMU announces an image.
std::string Announcement(const NewImage& image);
// The text of `-o help`.
std::string OptionsHelp(ImageFormat format);

// Makes the file and the image in it. A file that was not there before does not stay after an
// error.
Result<void> Create(const NewImage& image);

}  // namespace skiff::tool
