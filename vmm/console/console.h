#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "base/result.h"
#include "devices/character_port.h"

namespace skiff {

enum class ConsoleMode : uint8_t {
  kStdio,  // our standard input and output
  kOff,    // output is only kept for LastLines(), there is no input
  kFile,   // output goes to a file, which is emptied first; there is no input
};

struct ConsoleConfig {
  ConsoleMode mode = ConsoleMode::kStdio;
  std::string path;  // of kFile
};

// The host's end of the guest's serial line. Opened and finished by the main thread, before the
// devices that use its port and after they are gone; the port is thread-safe.
//
// A terminal on standard input becomes raw while we are its foreground job, and gets back exactly
// the state it had on every way out but SIGKILL. It then also has Ctrl-A x (leave), Ctrl-A ?
// (help) and Ctrl-A Ctrl-A (one Ctrl-A for the guest). Nothing else touches a terminal, and
// no descriptor that we share with others becomes non-blocking.
class Console {
 public:
  // `quit` is called from a host thread when the user asks to leave.
  static Result<std::unique_ptr<Console>> Open(const ConsoleConfig& config,
                                               std::function<void()> quit);
  virtual ~Console() = default;

  virtual CharacterPort& port() = 0;

  // Stops input, writes what is still buffered (giving up when nobody reads for a second) and
  // restores the terminal. Later output is lost. The destructor does it too.
  virtual void Finish() = 0;

  // Bytes of output that nobody took. Final after Finish().
  virtual uint64_t lost_bytes() const = 0;

  // The end of the guest's output, at most about 4 KiB from the start of a line on, without
  // control characters, so that it can be shown on any terminal.
  virtual std::string LastLines() const = 0;
};

}  // namespace skiff
