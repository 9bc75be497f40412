#include "vmm/console/escape_filter.h"

#include <utility>

namespace skiff {

EscapeCommand EscapeFilter::Feed(char key, std::string& out) {
  if (!std::exchange(escaped_, false)) {
    escaped_ = key == kEscapeKey;
    if (!escaped_) out.push_back(key);
    return EscapeCommand::kNone;
  }
  switch (key) {
    case 'x':
      return EscapeCommand::kQuit;
    case '?':
    case 'h':
      return EscapeCommand::kHelp;
    case 'a':
    case kEscapeKey:
      out.push_back(kEscapeKey);
      return EscapeCommand::kNone;
    default:
      out.push_back(kEscapeKey);
      out.push_back(key);
      return EscapeCommand::kNone;
  }
}

}  // namespace skiff
