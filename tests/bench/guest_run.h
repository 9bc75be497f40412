#pragma once

#include <chrono>
#include <string>

#include "base/result.h"
#include "tests/bench/exit_counts.h"
#include "tests/bench/memory_use.h"
#include "tests/bench/monitors.h"

namespace skiff::bench {

// One guest, from exec until it idles.
struct GuestRun {
  ExitCounts exits;                               // when /init had printed its first line
  std::chrono::duration<double> exec_to_init{0};  // until that line was read
  MemoryUse idle;                                 // seconds later, the guest asleep
  std::string kernel_line;                        // what the guest shows as /proc/cmdline
};

// Boots the tiny guest and kills it at the end. The monitor is stopped while the counters are
// read, so that they are those of that moment on a busy machine too. An error if a line of the
// guest does not come within `limit`.
Result<GuestRun> RunGuest(const Monitor& monitor, std::chrono::seconds limit);

}  // namespace skiff::bench
