#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/result.h"

namespace skiff::bench {

// KVM's counters of one process's virtual machines by KVM's own names: `exits`, `io_exits`, …
using ExitCounts = std::map<std::string, uint64_t>;

inline constexpr const char* kKvmDebugDirectory = "/sys/kernel/debug/kvm";

// Sums the counters in `directory`, where KVM has a folder "TASK-FD" for every machine, over the
// machines that one of `tasks` made (a monitor may make it in any of its threads). An error if
// there is no such machine, or no debugfs.
Result<ExitCounts> ReadExitCounts(const std::string& directory, const std::vector<int>& tasks);

// The ids of a process's threads.
std::vector<int> TasksOf(int pid);

}  // namespace skiff::bench
