#include "tests/bench/exit_counts.h"

#include <algorithm>
#include <charconv>
#include <optional>

#include "tests/bench/text_file.h"

namespace skiff::bench {
namespace {

// The number that `text` begins with, if it is followed by `end` or the end of the text.
std::optional<uint64_t> Number(std::string_view text, char end) {
  uint64_t value = 0;
  const char* const last = text.data() + text.size();
  const auto parsed = std::from_chars(text.data(), last, value);
  if (parsed.ec != std::errc() || (parsed.ptr != last && *parsed.ptr != end)) return std::nullopt;
  return value;
}

// Folders of vCPUs lie among the files; their counters are in the machine's sums already.
void AddCounters(const std::string& machine, ExitCounts& counts) {
  for (const std::string& name : NamesIn(machine)) {
    const auto text = ReadTextFile(machine + "/" + name);
    if (!text.ok()) continue;
    if (const auto value = Number(text.value(), '\n')) counts[name] += *value;
  }
}

}  // namespace

Result<ExitCounts> ReadExitCounts(const std::string& directory, const std::vector<int>& tasks) {
  ExitCounts counts;
  for (const std::string& name : NamesIn(directory)) {
    const auto maker = Number(name, '-');
    const auto made = [&](int task) { return maker == static_cast<uint64_t>(task); };
    if (std::any_of(tasks.begin(), tasks.end(), made)) AddCounters(directory + "/" + name, counts);
  }
  if (counts.empty()) return Unsupported("no counters of the machine in " + directory);
  return counts;
}

std::vector<int> TasksOf(int pid) {
  std::vector<int> tasks;
  for (const std::string& name : NamesIn("/proc/" + std::to_string(pid) + "/task"))
    if (const auto task = Number(name, '\n')) tasks.push_back(static_cast<int>(*task));
  return tasks;
}

}  // namespace skiff::bench
