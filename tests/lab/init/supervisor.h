#pragma once

#include <sys/types.h>

#include <string>

#include "base/result.h"
#include "base/unique_fd.h"
#include "tests/lab/init/job.h"

namespace skiff::lab {

// How a job ended.
struct Outcome {
  enum class Kind { kExited, kSignaled, kTimeout };
  Kind kind;
  int number;  // exit status or signal; meaningless for kTimeout

  // "exited 3", "signaled 9" or "timeout": a line of the lab's status file, without its newline.
  std::string StatusLine() const;
  // As shells and timeout(1) have it: the status, 128 + the signal, or 124.
  int ExitCode() const;
};

struct Output {
  int out;
  int err;
};

// Whom to kill besides the job's process group when its time is over.
enum class Reach { kProcessGroup, kWholeMachine };

// Runs one job at a time as a process group with its own session and /dev/null as input. Call
// from the only thread of the process: the signals that it waits for (SIGCHLD, SIGINT, SIGTERM,
// SIGHUP) are blocked from construction on, and children that are not the job are reaped.
class Supervisor {
 public:
  explicit Supervisor(Reach reach);

  // Returns when the job's first process has ended or was killed. When the time limit is over it
  // gets SIGTERM, and kGraceSeconds later SIGKILL. SIGINT, SIGTERM and SIGHUP are passed on to it.
  // A command that cannot be started ends with status 126 or 127 and a line on its stderr, as in
  // a shell.
  Result<Outcome> Run(const Job& job, const Output& output);

  static constexpr unsigned kGraceSeconds = 5;

 private:
  Result<pid_t> Start(const Job& job, const Output& output) const;
  Result<Outcome> Watch(pid_t first, unsigned time_limit_seconds) const;
  void KillRest(pid_t group) const;

  const Reach reach_;
};

}  // namespace skiff::lab
