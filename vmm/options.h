#pragma once

#include <string>
#include <variant>

#include "base/result.h"
#include "vmm/config.h"

namespace skiff {

// What the command line asks for.
struct PrintText {  // help, version: to stdout, status 0
  std::string text;
};
using Command = std::variant<PrintText, Config>;

// kInvalid, in one line that says what to write instead, for anything we do not understand.
// No exception leaves it.
Result<Command> ParseCommandLine(int argc, const char* const* argv);

}  // namespace skiff
