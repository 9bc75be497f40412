#include "tests/lab/init/supervisor.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <optional>
#include <vector>

namespace skiff::lab {
namespace {

constexpr int64_t kNanoseconds = 1'000'000'000;
constexpr int kTimeoutStatus = 124;
constexpr int kCannotRunStatus = 126;
constexpr int kNotFoundStatus = 127;

int64_t Now() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * kNanoseconds + now.tv_nsec;
}

sigset_t WatchedSignals() {
  sigset_t set;
  sigemptyset(&set);
  for (const int signal : {SIGCHLD, SIGINT, SIGTERM, SIGHUP}) sigaddset(&set, signal);
  return set;
}

// The next watched signal, or 0 when `deadline` has come.
int NextSignal(std::optional<int64_t> deadline) {
  const sigset_t set = WatchedSignals();
  if (!deadline) return sigwaitinfo(&set, nullptr);
  const int64_t left = std::max<int64_t>(*deadline - Now(), 0);
  const timespec wait{left / kNanoseconds, left % kNanoseconds};
  const int signal = sigtimedwait(&set, nullptr, &wait);
  return signal < 0 && errno == EAGAIN && Now() >= *deadline ? 0 : signal;
}

// Reaps every child that has ended; the status of `first` if it is one of them.
std::optional<int> Reap(pid_t first) {
  std::optional<int> status_of_first;
  int status = 0;
  for (pid_t ended; (ended = waitpid(-1, &status, WNOHANG)) > 0;) {
    if (ended == first) status_of_first = status;
  }
  return status_of_first;
}

std::vector<char*> Pointers(const std::vector<std::string>& strings) {
  std::vector<char*> pointers;
  for (const std::string& string : strings) pointers.push_back(const_cast<char*>(string.c_str()));
  pointers.push_back(nullptr);
  return pointers;
}

const char* PathOf(const std::vector<std::string>& environment) {
  constexpr std::string_view kName = "PATH=";
  for (const std::string& variable : environment) {
    if (variable.starts_with(kName)) return variable.c_str() + kName.size();
  }
  return "/usr/sbin:/usr/bin:/sbin:/bin";
}

// In the child: becomes the job. Returns only when that fails.
void BecomeJob(const Job& job, const Output& output) {
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  setsid();
  const int input = open("/dev/null", O_RDONLY | O_CLOEXEC);
  dup2(input, STDIN_FILENO);
  dup2(output.out, STDOUT_FILENO);
  dup2(output.err, STDERR_FILENO);
  if (!job.directory.empty() && chdir(job.directory.c_str()) != 0) {
    dprintf(STDERR_FILENO, "lab: cannot enter %s: %s\n", job.directory.c_str(), strerror(errno));
    _exit(kCannotRunStatus);
  }
  const auto arguments = Pointers(job.arguments);
  const auto environment = Pointers(job.environment);
  // execvpe() looks the command up in the caller's $PATH, not in the job's.
  setenv("PATH", PathOf(job.environment), /*overwrite=*/1);
  execvpe(arguments[0], arguments.data(), environment.data());
  const int why = errno;
  dprintf(STDERR_FILENO, "lab: cannot run %s: %s\n", arguments[0], strerror(why));
  _exit(why == ENOENT ? kNotFoundStatus : kCannotRunStatus);
}

// The job may not have come to its setsid() yet; its process is there until it is reaped.
void SignalJob(pid_t first, int signal) {
  if (kill(-first, signal) != 0) kill(first, signal);
}

Outcome OutcomeOf(int status) {
  if (WIFSIGNALED(status)) return {Outcome::Kind::kSignaled, WTERMSIG(status)};
  return {Outcome::Kind::kExited, WEXITSTATUS(status)};
}

}  // namespace

std::string Outcome::StatusLine() const {
  switch (kind) {
    case Kind::kExited:
      return "exited " + std::to_string(number);
    case Kind::kSignaled:
      return "signaled " + std::to_string(number);
    case Kind::kTimeout:
      break;
  }
  return "timeout";
}

int Outcome::ExitCode() const {
  switch (kind) {
    case Kind::kExited:
      return number;
    case Kind::kSignaled:
      return 128 + number;
    case Kind::kTimeout:
      break;
  }
  return kTimeoutStatus;
}

Supervisor::Supervisor(Reach reach) : reach_(reach) {
  const sigset_t set = WatchedSignals();
  sigprocmask(SIG_BLOCK, &set, nullptr);
}

Result<Outcome> Supervisor::Run(const Job& job, const Output& output) {
  const pid_t first = TRY(Start(job, output));
  const Outcome outcome = TRY(Watch(first, job.time_limit_seconds));
  KillRest(first);
  return outcome;
}

Result<pid_t> Supervisor::Start(const Job& job, const Output& output) const {
  const pid_t child = fork();
  if (child < 0) return Error::FromErrno("fork");
  if (child == 0) BecomeJob(job, output);
  return child;
}

Result<Outcome> Supervisor::Watch(pid_t first, unsigned time_limit_seconds) const {
  std::optional<int64_t> deadline;
  if (time_limit_seconds > 0) deadline = Now() + time_limit_seconds * kNanoseconds;
  bool time_is_over = false;
  for (;;) {
    const int signal = NextSignal(deadline);
    if (signal < 0 && errno != EINTR && errno != EAGAIN) return Error::FromErrno("sigtimedwait");
    if (signal == SIGCHLD) {
      const auto status = Reap(first);
      if (status && time_is_over) return Outcome{Outcome::Kind::kTimeout, 0};
      if (status) return OutcomeOf(*status);
    } else if (signal > 0) {
      SignalJob(first, signal);
    } else if (signal == 0) {
      SignalJob(first, time_is_over ? SIGKILL : SIGTERM);
      time_is_over = true;
      deadline = Now() + kGraceSeconds * kNanoseconds;
    }
  }
}

// What the job left running ends with it. ESRCH only says that nothing is left.
void Supervisor::KillRest(pid_t group) const {
  kill(-group, SIGKILL);
  if (reach_ == Reach::kWholeMachine) kill(-1, SIGKILL);
}

}  // namespace skiff::lab
