// PID 1 of the lab's machine: makes the host's tree its own, runs one job, reports how that ended
// and powers off. The order of things is Prepare() and RunJob(); README.md beside tests/lab/run
// says who is on the other side.

#include <net/if.h>
#include <sys/ioctl.h>
#include <sys/reboot.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstring>

#include "tests/lab/init/files.h"
#include "tests/lab/init/heartbeat.h"
#include "tests/lab/init/job.h"
#include "tests/lab/init/kernel_log.h"
#include "tests/lab/init/modules.h"
#include "tests/lab/init/mounts.h"
#include "tests/lab/init/ports.h"
#include "tests/lab/init/supervisor.h"

namespace skiff::lab {
namespace {

Result<void> BringLoopbackUp() {
  const UniqueFd socket_fd(socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  ifreq request{};
  std::strcpy(request.ifr_name, "lo");
  request.ifr_flags = IFF_UP | IFF_RUNNING;
  if (ioctl(socket_fd.get(), SIOCSIFFLAGS, &request) != 0) {
    return Error::FromErrno("bringing up the loopback interface");
  }
  return {};
}

// The limits that systemd gives: the kernel's own hard limit of open files is 4096.
Result<void> RaiseLimits() {
  const rlimit files{1024, 1 << 19};
  if (setrlimit(RLIMIT_NOFILE, &files) != 0) return Error::FromErrno("setting the limit of files");
  return {};
}

Result<void> Prepare(const Job& job) {
  TRY(SwitchToHostTree());
  if (!job.out.empty()) TRY(MountOut(job.out));
  if (!job.modules.empty()) TRY(MountModules(job.modules));
  TRY(BringLoopbackUp());
  TRY(RaiseLimits());
  if (sethostname("lab", 3) != 0) return Error::FromErrno("sethostname");
  return {};
}

// The whole life of the machine up to the status line.
Result<std::string> RunJob() {
  const Job job = TRY(ReadJob("/job"));
  TRY(Prepare(job));
  const UniqueFd out = TRY(OpenPort("out"));
  const UniqueFd err = TRY(OpenPort("err"));
  const Heartbeat heartbeat(TRY(OpenPort("beat")));
  LogStep("starting the job");
  Supervisor supervisor(Reach::kWholeMachine);
  const Outcome outcome = TRY(supervisor.Run(job, {out.get(), err.get()}));
  LogStep("the job has ended");
  return outcome.StatusLine();
}

std::string StatusOf(const Result<std::string>& job) {
  if (job.ok()) return job.value();
  return "lab-failed " + job.error().message();
}

Result<void> Report(const std::string& status) {
  const UniqueFd port = TRY(OpenPort("status"));
  return WriteAll(port.get(), status + "\n");
}

// Without the modules there is no port to report on; what fails before is told to the console.
Result<void> Live() {
  TRY(MountEarly());
  TRY(LoadModules("/modules.order"));
  const auto job = RunJob();
  if (!job.ok()) LogFailure(job.error().message());
  // The status comes last: who has read it has all that the job wrote.
  sync();
  return Report(StatusOf(job));
}

}  // namespace
}  // namespace skiff::lab

int main() {
  const auto lived = skiff::lab::Live();
  if (!lived.ok()) skiff::lab::LogFailure(lived.error().message());
  reboot(RB_POWER_OFF);
  for (;;) pause();
}
