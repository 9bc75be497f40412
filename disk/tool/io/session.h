#pragma once

#include <cstdio>
#include <optional>
#include <string>

#include "disk/tool/io/buffer.h"
#include "disk/tool/io/open_image.h"

namespace skiff::io {

// What commands work on.
struct Session {
  std::string program;  // the name it was called by, before messages and in the prompt
  Placement placement = Placement::kAligned;
  std::optional<OpenImage> image;
  bool ended = false;  // by `quit`

  // A message for stderr, with the program's name.
  void Complain(const std::string& message) const {
    std::fprintf(stderr, "%s: %s\n", program.c_str(), message.c_str());
  }
};

// Opens the image; a failure is told. `reason` before it: "can't open device X: ".
Result<void> OpenAndTell(Session& session, const ImageRequest& request);

// Waits for what was started, makes it durable and closes the image; a failure is told.
Result<void> CloseAndTell(Session& session);

// What a command returns after it has told its failure itself.
inline Error AlreadyTold() { return Invalid(""); }

}  // namespace skiff::io
