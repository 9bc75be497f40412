#pragma once

#include <chrono>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"

namespace skiff::bench {

using Clock = std::chrono::steady_clock;

// A monitor under measurement, with pipes as its stdin (nothing ever comes, but no end either:
// some monitors take that for a hang-up) and stdout. Its stderr is ours. The destructor kills
// and reaps it; it dies with us too. One thread uses it.
class Process {
 public:
  // The first word of `command` is the program. `prepare` runs in the new process before it; an
  // error of it is to end in _exit().
  static Result<Process> Start(const std::vector<std::string>& command,
                               void (*prepare)() = nullptr);

  Process(Process&& other) noexcept;
  Process& operator=(Process&&) = delete;
  ~Process();

  int pid() const { return pid_; }
  Clock::time_point started() const { return started_; }

  // Who traces the process has reaped it.
  void Reaped() { pid_ = -1; }

  // Reads until the output has a line with `text` in it, and returns that line from there on,
  // without its end. The next call begins behind it. An error at the end of the output, or when
  // `limit` is over.
  Result<std::string> AwaitLine(std::string_view text, std::chrono::seconds limit);

 private:
  Process(int pid, Clock::time_point started, UniqueFd input, UniqueFd output)
      : pid_(pid), started_(started), input_(std::move(input)), output_(std::move(output)) {}

  // Appends what there is by `deadline`, at least a byte.
  Result<void> ReadMore(Clock::time_point deadline);

  int pid_;
  Clock::time_point started_;
  UniqueFd input_;
  UniqueFd output_;
  std::string text_;   // all output so far
  size_t behind_ = 0;  // where the last line that was waited for ends
};

}  // namespace skiff::bench
