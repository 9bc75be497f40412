#pragma once

#include <cstdint>
#include <string>

namespace skiff {

inline constexpr char kEscapeKey = 0x01;  // Ctrl-A

enum class EscapeCommand : uint8_t { kNone, kQuit, kHelp };

// Finds our commands in what the user types: Ctrl-A x, Ctrl-A ? or h, Ctrl-A Ctrl-A or a (one
// Ctrl-A for the guest). Ctrl-A with any other key means nothing to us, so both go to the guest.
class EscapeFilter {
 public:
  // Handles one key; what the guest is to get of it is appended to `out`.
  EscapeCommand Feed(char key, std::string& out);

 private:
  bool escaped_ = false;  // the last key was a Ctrl-A
};

}  // namespace skiff
