// run_job SECONDS STATUS_FILE COMMAND [ARGUMENT]...
//
// The lab's contract on the host itself: runs the command for at most SECONDS seconds (0: no
// limit), writes how it ended to STATUS_FILE and exits with its status. tests/lab/run uses it
// where the host's KVM works. 125 and a line on stderr if it cannot do so.

#include <fcntl.h>
#include <unistd.h>

#include <charconv>
#include <cstdio>
#include <cstring>

#include "tests/lab/init/files.h"
#include "tests/lab/init/supervisor.h"

namespace skiff::lab {
namespace {

constexpr int kLabFailed = 125;

Result<Job> JobFrom(int count, char** arguments, char** environment) {
  if (count < 4) return Invalid("usage: run_job SECONDS STATUS_FILE COMMAND [ARGUMENT]...");
  Job job;
  const char* seconds_end = arguments[1] + std::strlen(arguments[1]);
  const auto parsed = std::from_chars(arguments[1], seconds_end, job.time_limit_seconds);
  if (parsed.ec != std::errc() || parsed.ptr != seconds_end) return Invalid("SECONDS: no number");
  for (int i = 3; i < count; ++i) job.arguments.emplace_back(arguments[i]);
  for (; *environment != nullptr; ++environment) job.environment.emplace_back(*environment);
  return job;
}

Result<int> Run(int count, char** arguments, char** environment) {
  const Job job = TRY(JobFrom(count, arguments, environment));
  const UniqueFd status(open(arguments[2], O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666));
  if (!status.valid()) return Error::FromErrno(std::string("opening ") + arguments[2]);
  Supervisor supervisor(Reach::kProcessGroup);
  const Outcome outcome = TRY(supervisor.Run(job, {STDOUT_FILENO, STDERR_FILENO}));
  TRY(WriteAll(status.get(), outcome.StatusLine() + "\n"));
  return outcome.ExitCode();
}

}  // namespace
}  // namespace skiff::lab

int main(int count, char** arguments, char** environment) {
  const auto ended = skiff::lab::Run(count, arguments, environment);
  if (ended.ok()) return ended.value();
  std::fprintf(stderr, "lab: %s\n", ended.error().message().c_str());
  return skiff::lab::kLabFailed;
}
