#include "tests/bench/guest_run.h"

#include <csignal>
#include <thread>

#include "tests/bench/process.h"
#include "tests/bench/text_file.h"

namespace skiff::bench {
namespace {

constexpr const char* kInitLine = "skiff-tiny: init";
constexpr const char* kReadyLine = "skiff-tiny: ready";
constexpr std::chrono::seconds kSettling{3};

Result<GuestRun> Observe(Process& monitor, std::chrono::seconds limit) {
  GuestRun run;
  TRY(monitor.AwaitLine(kInitLine, limit));
  run.exec_to_init = Clock::now() - monitor.started();
  kill(monitor.pid(), SIGSTOP);
  run.exits = TRY(ReadExitCounts(kKvmDebugDirectory, TasksOf(monitor.pid())));
  kill(monitor.pid(), SIGCONT);

  TRY(monitor.AwaitLine(kReadyLine, limit));
  run.kernel_line = TRY(monitor.AwaitLine("console=", limit));
  std::this_thread::sleep_for(kSettling);
  run.idle = SumMappings(TRY(ReadTextFile("/proc/" + std::to_string(monitor.pid()) + "/smaps")));
  return run;
}

}  // namespace

Result<GuestRun> RunGuest(const Monitor& monitor, std::chrono::seconds limit) {
  Process process = TRY(Process::Start(monitor.command));
  auto run = Observe(process, limit);
  if (!run.ok()) return std::move(run).error().While(monitor.name);
  return run;
}

}  // namespace skiff::bench
