#pragma once

#include <optional>
#include <string>

namespace skiff {

// What a machine is to boot.
struct BootConfig {
  std::string kernel;                 // path; the kind of kernel is found by its content
  std::optional<std::string> initrd;  // path
  std::string command_line;           // complete, without a trailing NUL
};

}  // namespace skiff
