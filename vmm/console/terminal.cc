#include "vmm/console/terminal.h"

#include <pthread.h>
#include <termios.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstdlib>

namespace skiff {
namespace {

// Whoever had a handler for a crash before us (a sanitizer) gets it after us.
constexpr std::array kCrashSignals = {SIGILL, SIGTRAP, SIGABRT, SIGBUS, SIGFPE, SIGSEGV, SIGSYS};
// Others whose default is to end the process. Where somebody has a handler it stays.
constexpr std::array kEndSignals = {SIGHUP,  SIGINT,    SIGQUIT, SIGUSR1, SIGUSR2,
                                    SIGPIPE, SIGALRM,   SIGTERM, SIGXCPU, SIGSTKFLT,
                                    SIGPROF, SIGVTALRM, SIGIO};

// What signal handlers need; they have no object to ask. Written before any handler is installed,
// but for `raw`.
struct State {
  int fd = -1;
  termios original{};
  termios raw_mode{};
  std::array<struct sigaction, NSIG> previous{};
  std::array<bool, NSIG> ours{};
  std::atomic<bool> raw{false};
};
State state;

bool Foreground(int fd) {
  const pid_t group = tcgetpgrp(fd);
  return group < 0 || group == getpgrp();  // below 0: not our controlling terminal
}

// The functions from here to RaiseStop() are async-signal-safe.

void SetRaw() {
  if (!Foreground(state.fd)) return;
  state.raw.store(true, std::memory_order_release);  // first: a signal may come in between
  tcsetattr(state.fd, TCSANOW, &state.raw_mode);
}

void RestoreOriginal() {
  if (!state.raw.exchange(false, std::memory_order_acq_rel)) return;
  if (Foreground(state.fd)) tcsetattr(state.fd, TCSANOW, &state.original);
}

void OnFatalSignal(int signal, siginfo_t* info, void*) {
  RestoreOriginal();
  sigaction(signal, &state.previous[static_cast<size_t>(signal)], nullptr);
  // A fault comes again with its instruction, and with its true address; all else must be sent
  // again. It is blocked until we return.
  const bool fault = signal == SIGSEGV || signal == SIGBUS || signal == SIGFPE || signal == SIGILL;
  if (!fault || info->si_code <= 0 || info->si_code == SI_KERNEL) raise(signal);
}

void OnContinue(int) {
  const int saved_errno = errno;
  SetRaw();
  errno = saved_errno;
}

// Stops us as SIGTSTP would have done without our handler; returns when we go on.
void RaiseStop() {
  struct sigaction ours {};
  struct sigaction by_default {};
  by_default.sa_handler = SIG_DFL;
  sigaction(SIGTSTP, &by_default, &ours);
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGTSTP);
  raise(SIGTSTP);
  pthread_sigmask(SIG_UNBLOCK, &set, nullptr);
  pthread_sigmask(SIG_BLOCK, &set, nullptr);
  sigaction(SIGTSTP, &ours, nullptr);
}

void OnStop(int) {
  const int saved_errno = errno;
  const bool was_raw = state.raw.load(std::memory_order_acquire);
  RestoreOriginal();
  RaiseStop();
  if (was_raw) SetRaw();
  errno = saved_errno;
}

enum class Handlers : uint8_t { kKeep, kReplace };

// Signals that are ignored stay ignored.
void Install(int signal, const struct sigaction& action, Handlers earlier) {
  const auto index = static_cast<size_t>(signal);
  struct sigaction previous {};
  if (sigaction(signal, nullptr, &previous) < 0) return;
  const bool has_handler = (previous.sa_flags & SA_SIGINFO) || previous.sa_handler != SIG_DFL;
  if (previous.sa_handler == SIG_IGN || (has_handler && earlier == Handlers::kKeep)) return;
  state.previous[index] = previous;
  state.ours[index] = sigaction(signal, &action, nullptr) == 0;
}

void InstallHandlers() {
  struct sigaction fatal {};
  fatal.sa_sigaction = OnFatalSignal;
  fatal.sa_flags = SA_SIGINFO | SA_ONSTACK;
  for (const int signal : kCrashSignals) Install(signal, fatal, Handlers::kReplace);
  for (const int signal : kEndSignals) Install(signal, fatal, Handlers::kKeep);
  struct sigaction job {};
  job.sa_flags = SA_RESTART;
  job.sa_handler = OnStop;
  Install(SIGTSTP, job, Handlers::kKeep);
  job.sa_handler = OnContinue;
  Install(SIGCONT, job, Handlers::kKeep);
}

void RemoveHandlers() {
  for (size_t signal = 1; signal < state.ours.size(); ++signal) {
    if (!state.ours[signal]) continue;
    sigaction(static_cast<int>(signal), &state.previous[signal], nullptr);
    state.ours[signal] = false;
  }
}

termios RawMode(termios mode) {
  // As cfmakeraw() does it, without c_oflag and the size of a character.
  mode.c_iflag &=
      ~static_cast<tcflag_t>(IGNBRK | BRKINT | PARMRK | ISTRIP | INLCR | IGNCR | ICRNL | IXON);
  mode.c_lflag &= ~static_cast<tcflag_t>(ECHO | ECHONL | ICANON | ISIG | IEXTEN);
  mode.c_cc[VMIN] = 1;
  mode.c_cc[VTIME] = 0;
  return mode;
}

}  // namespace

std::unique_ptr<Terminal> Terminal::Open(int fd) {
  termios original{};
  if (tcgetattr(fd, &original) < 0) return nullptr;
  state.original = original;
  state.raw_mode = RawMode(original);
  return std::unique_ptr<Terminal>(new Terminal(fd));
}

Terminal::Terminal(int fd) {
  state.fd = fd;
  static const int registered = std::atexit(RestoreOriginal);
  static_cast<void>(registered);
  InstallHandlers();
  EnterRaw();
}

Terminal::~Terminal() {
  RemoveHandlers();  // first, or SIGCONT could make it raw again
  RestoreOriginal();
}

void Terminal::EnterRaw() { SetRaw(); }

bool Terminal::InForeground() const { return Foreground(state.fd); }

}  // namespace skiff
