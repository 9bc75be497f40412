#pragma once

#include <string>
#include <variant>
#include <vector>

#include "disk/tool/io/buffer.h"
#include "disk/tool/io/image_plan.h"

namespace skiff::io {

// What the command line asks for.
struct Invocation {
  std::vector<std::string> commands;    // none: they come from standard input
  std::optional<ImageRequest> request;  // none: `open` opens an image
  Placement placement = Placement::kAligned;
};

// The text goes to stdout, and that is all.
struct ShowText {
  std::string text;
  int status;
};

// `program`: the name it was called by. An error goes to stderr with that name before it; of wrong
// options, getopt has told the error already and the usage is what is shown.
Result<std::variant<ShowText, Invocation>> ParseCommandLine(int argc, char** argv,
                                                            const std::string& program);

}  // namespace skiff::io
