#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "base/result.h"

namespace skiff::bench {

// Runs `command` (the first word is the program) to its first KVM_RUN and ends it there: the CPU
// time, user and system, of all its threads since exec.
//
// A seccomp filter stops the process at exactly that ioctl, before it happens, and nowhere else;
// so what is measured runs undisturbed but for a stop at each new thread. An error if the process
// ends without a KVM_RUN, or comes to none within `limit`. No other child may live. Takes SIGALRM
// meanwhile.
Result<std::chrono::nanoseconds> CpuTimeToFirstKvmRun(const std::vector<std::string>& command,
                                                      std::chrono::seconds limit);

}  // namespace skiff::bench
