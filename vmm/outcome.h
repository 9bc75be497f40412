#pragma once

#include <cstdint>
#include <string>

namespace skiff {

// Why a guest's run ended.
enum class EndReason : uint8_t {
  kPowerOff,
  kReset,
  kHalted,       // every vCPU halted with interrupts off: nothing can wake the guest again
  kPanicked,     // the guest's kernel panicked
  kTripleFault,  // a vCPU shut down
  kTimeout,
  kSignal,
  kQuit,       // Ctrl-A x
  kHostError,  // skiff or the host's KVM failed
};

struct Outcome {
  EndReason reason = EndReason::kHostError;
  int signal = 0;      // kSignal
  std::string detail;  // kHostError: what failed; else what helps to understand, or empty
};

inline constexpr int kStatusGuestCrashed = 123;
inline constexpr int kStatusTimeout = 124;
inline constexpr int kStatusSkiffFailed = 125;
inline constexpr int kStatusSignalBase = 128;

// The exit status of `skiff run`, as its --help lists them.
int ExitStatus(const Outcome& outcome);

// One line for stderr: what happened, and why or what to do where that is known.
std::string Describe(const Outcome& outcome);

}  // namespace skiff
