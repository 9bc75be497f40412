#include "vmm/signals.h"

#include <sys/signalfd.h>
#include <unistd.h>

#include <csignal>

namespace skiff {
namespace {

bool Ignored(int signal) {
  struct sigaction action {};
  return sigaction(signal, nullptr, &action) == 0 && action.sa_handler == SIG_IGN;
}

}  // namespace

Result<EndSignals> EndSignals::Block() {
  signal(SIGPIPE, SIG_IGN);
  signal(SIGXFSZ, SIG_IGN);
  sigset_t set;
  sigemptyset(&set);
  for (const int signal : {SIGHUP, SIGINT, SIGQUIT, SIGTERM})
    if (!Ignored(signal)) sigaddset(&set, signal);
  if (pthread_sigmask(SIG_BLOCK, &set, nullptr) != 0) return Error::FromErrno("pthread_sigmask");
  UniqueFd fd(signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK));
  if (!fd.valid()) return Error::FromErrno("signalfd");
  return EndSignals(std::move(fd));
}

int EndSignals::Take() const {
  signalfd_siginfo info{};
  const ssize_t got = read(fd_.get(), &info, sizeof info);
  return got == static_cast<ssize_t>(sizeof info) ? static_cast<int>(info.ssi_signo) : 0;
}

}  // namespace skiff
