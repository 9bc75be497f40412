#include "vmm/outcome.h"

#include <cstring>

namespace skiff {
namespace {

std::string What(const Outcome& outcome) {
  switch (outcome.reason) {
    case EndReason::kPowerOff:
      return "the guest powered off";
    case EndReason::kReset:
      return "the guest rebooted";
    case EndReason::kHalted:
      return "the guest halted: all vCPUs wait with interrupts off";
    case EndReason::kPanicked:
      return "the guest's kernel panicked";
    case EndReason::kTripleFault:
      return "the guest crashed: triple fault";
    case EndReason::kTimeout:
      return "the time given by --timeout ran out";
    case EndReason::kSignal:
      return std::string("ended by signal: ") + strsignal(outcome.signal);
    case EndReason::kQuit:
      return "left by Ctrl-A x";
    case EndReason::kHostError:
      return outcome.detail;
  }
  return "";
}

}  // namespace

int ExitStatus(const Outcome& outcome) {
  switch (outcome.reason) {
    case EndReason::kPowerOff:
    case EndReason::kReset:
    case EndReason::kHalted:
    case EndReason::kQuit:
      return 0;
    case EndReason::kPanicked:
    case EndReason::kTripleFault:
      return kStatusGuestCrashed;
    case EndReason::kTimeout:
      return kStatusTimeout;
    case EndReason::kSignal:
      return kStatusSignalBase + outcome.signal;
    case EndReason::kHostError:
      return kStatusSkiffFailed;
  }
  return kStatusSkiffFailed;
}

std::string Describe(const Outcome& outcome) {
  const bool with_detail = outcome.reason != EndReason::kHostError && !outcome.detail.empty();
  return What(outcome) + (with_detail ? " (" + outcome.detail + ")" : "");
}

}  // namespace skiff
