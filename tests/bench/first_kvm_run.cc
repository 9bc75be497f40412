#include "tests/bench/first_kvm_run.h"

#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstddef>
#include <ctime>
#include <optional>

#include "tests/bench/process.h"

namespace skiff::bench {
namespace {

// <linux/kvm.h>: _IO(KVMIO, 0x80). A test of the tracer compares them.
constexpr uint32_t kKvmRun = 0xAE80;

constexpr long kTraceOptions = PTRACE_O_EXITKILL | PTRACE_O_TRACESECCOMP | PTRACE_O_TRACEEXEC |
                               PTRACE_O_TRACECLONE | PTRACE_O_TRACEFORK | PTRACE_O_TRACEVFORK;

constexpr uint32_t kArgument1 = offsetof(seccomp_data, args) + sizeof(uint64_t);

// Lets every system call pass but ioctl(…, KVM_RUN), which the tracer sees. The request is an
// unsigned int to the kernel, so its low half decides; x86-64 is little-endian.
std::array<sock_filter, 8> Filter() {
  return {{
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, arch)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, AUDIT_ARCH_X86_64, 0, 5),
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_ioctl, 0, 3),
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, kArgument1),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, kKvmRun, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_TRACE),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  }};
}

// In the new process, before exec. The filter comes after the tracer has set its options: a call
// that nobody traces fails with ENOSYS.
void WaitForTracerAndFilter() {
  std::array<sock_filter, 8> filter = Filter();
  const sock_fprog program{static_cast<unsigned short>(filter.size()), filter.data()};
  if (ptrace(PTRACE_TRACEME, 0, nullptr, nullptr) != 0 || raise(SIGSTOP) != 0 ||
      prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
      syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program) != 0) {
    _exit(126);
  }
}

// Of all threads, also of those that have ended, to the nanosecond.
Result<std::chrono::nanoseconds> CpuTimeOf(int pid) {
  clockid_t clock{};
  timespec spent{};
  if (clock_getcpuclockid(pid, &clock) != 0 || clock_gettime(clock, &spent) != 0)
    return Error::FromErrno("reading the process's CPU time");
  return std::chrono::seconds(spent.tv_sec) + std::chrono::nanoseconds(spent.tv_nsec);
}

struct Stop {
  int task;
  int status;

  bool is_end() const { return WIFEXITED(status) || WIFSIGNALED(status); }
  bool is_event(int event) const { return status >> 8 == (SIGTRAP | event << 8); }
  // A signal on its way to the task. Events, and the SIGSTOP that new tasks begin with, are none.
  int signal() const {
    const bool event = status >> 16 != 0;
    return event || WSTOPSIG(status) == SIGSTOP ? 0 : WSTOPSIG(status);
  }
};

// Interrupts a blocking call every second, so that it can look at the clock.
class Ticks {
 public:
  Ticks() {
    struct sigaction action {};
    action.sa_handler = [](int) {};  // without SA_RESTART
    sigaction(SIGALRM, &action, &before_);
    Every(1);
  }
  ~Ticks() {
    Every(0);
    sigaction(SIGALRM, &before_, nullptr);
  }
  Ticks(const Ticks&) = delete;
  Ticks& operator=(const Ticks&) = delete;

 private:
  static void Every(time_t seconds) {
    const itimerval period{{seconds, 0}, {seconds, 0}};
    setitimer(ITIMER_REAL, &period, nullptr);
  }
  struct sigaction before_ {};
};

Result<Stop> NextStop(Clock::time_point deadline) {
  const Ticks ticks;
  while (true) {
    int status = 0;
    const int task = waitpid(-1, &status, __WALL);
    if (task >= 0) return Stop{task, status};
    if (errno != EINTR) return Error::FromErrno("waiting for the traced process");
    if (Clock::now() >= deadline) return Invalid("time is over before the first KVM_RUN");
  }
}

// The process of `pid` stands in its SIGSTOP. Follows it and all that it starts.
Result<std::chrono::nanoseconds> Follow(int pid, Clock::time_point deadline) {
  std::optional<std::chrono::nanoseconds> at_exec;
  while (true) {
    const Stop stop = TRY(NextStop(deadline));
    if (stop.is_end()) {
      if (stop.task == pid) return Invalid("the process ended before its first KVM_RUN");
      continue;
    }
    if (stop.is_event(PTRACE_EVENT_EXEC) && stop.task == pid) at_exec = TRY(CpuTimeOf(pid));
    if (stop.is_event(PTRACE_EVENT_SECCOMP) && at_exec) return TRY(CpuTimeOf(pid)) - *at_exec;
    const auto signal = static_cast<uintptr_t>(stop.signal());
    ptrace(PTRACE_CONT, stop.task, nullptr, reinterpret_cast<void*>(signal));
  }
}

// A thread that is traced is ours to reap, and the process only ends when all its threads have.
void End(Process& process) {
  kill(process.pid(), SIGKILL);
  while (waitpid(-1, nullptr, __WALL) > 0) {
  }
  process.Reaped();
}

Result<std::chrono::nanoseconds> Trace(int pid, std::chrono::seconds limit) {
  const Clock::time_point deadline = Clock::now() + limit;
  const Stop first = TRY(NextStop(deadline));
  if (first.is_end()) return Invalid("the process cannot be traced");
  if (ptrace(PTRACE_SETOPTIONS, pid, nullptr, reinterpret_cast<void*>(kTraceOptions)) != 0)
    return Error::FromErrno("tracing the process");
  ptrace(PTRACE_CONT, pid, nullptr, nullptr);
  return Follow(pid, deadline);
}

}  // namespace

Result<std::chrono::nanoseconds> CpuTimeToFirstKvmRun(const std::vector<std::string>& command,
                                                      std::chrono::seconds limit) {
  Process process = TRY(Process::Start(command, WaitForTracerAndFilter));
  auto time = Trace(process.pid(), limit);
  End(process);
  return time;
}

}  // namespace skiff::bench
