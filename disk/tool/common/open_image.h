#pragma once

#include <memory>
#include <optional>
#include <string>

#include "disk/image.h"
#include "disk/open.h"
#include "disk/posix_file.h"
#include "disk/probe.h"

namespace skiff::tool {

// What a user says of an image: its name and the options that most subcommands have.
struct ImageSource {
  std::string name;                   // as given; messages show it
  std::string path;                   // of the host's file
  std::optional<ImageFormat> format;  // none: by its content
  CacheMode cache = CacheMode::kWriteback;
  bool writable = false;
  bool force_share = false;  // -U: others may write to it meanwhile
};

// `name`: a path, perhaps with "file:" before it. kUnsupported for other protocols.
Result<ImageSource> ParseSource(const std::string& name, const std::string& format,
                                const std::string& cache);
// `options`: driver=…,file.filename=… (--image-opts).
Result<ImageSource> ParseImageOptions(const std::string& options, const std::string& cache);

// Errors are lines as QEMU has them: "Could not open 'NAME': why".
Result<std::unique_ptr<File>> OpenFile(const ImageSource& source);
Result<ImageFormat> FormatOf(const ImageSource& source, File& file);
// The image and all that it stands on.
Result<std::unique_ptr<Image>> OpenChainOf(const ImageSource& source);
Result<std::unique_ptr<BlockBackend>> OpenBackend(const ImageSource& source);

}  // namespace skiff::tool
