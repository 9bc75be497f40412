#include "vmm/run.h"

#include <memory>

#include "base/event_loop.h"
#include "vmm/console/console.h"
#include "vmm/signals.h"
#include "vmm/vm.h"

namespace skiff {
namespace {

// What outlives a reboot: the loop, the console, the clock of --timeout.
struct Host {
  EndSignals signals;
  std::unique_ptr<EventLoop> loop;
  std::unique_ptr<Console> console;
  Ending ending;
};

Outcome HostError(const Error& error) { return {EndReason::kHostError, 0, error.message()}; }

Result<void> WatchSignals(Host& host) {
  return host.loop->Watch(host.signals.fd(), [&host] {
    if (const int signal = host.signals.Take()) host.ending.Set({EndReason::kSignal, signal, {}});
  });
}

Result<std::unique_ptr<Host>> OpenHost(const Config& config) {
  EndSignals signals = TRY(EndSignals::Block());
  std::unique_ptr<EventLoop> loop = TRY(EventLoop::Make());
  EventLoop& loop_reference = *loop;
  auto host = std::unique_ptr<Host>(
      new Host{std::move(signals), std::move(loop), nullptr, Ending(loop_reference)});
  TRY(WatchSignals(*host));
  host->console = TRY(Console::Open(config.console, [&host = *host] {
    host.ending.Set({EndReason::kQuit, 0, {}});
  }));
  if (config.timeout)
    host->loop->SetTimer(EventLoop::Clock::now() + *config.timeout, [&host = *host] {
      host.ending.Set({EndReason::kTimeout, 0, {}});
    });
  return host;
}

Outcome RunOnce(const Config& config, Host& host) {
  auto vm = Vm::Build(config, host.console->port(), *host.loop, host.ending);
  if (!vm.ok()) return HostError(vm.error());
  return (*vm)->Run();
}

bool IsCrash(const Outcome& outcome) {
  return outcome.reason == EndReason::kPanicked || outcome.reason == EndReason::kTripleFault;
}

// After the console is closed: what the user did not see, and what nobody will.
void ReportConsole(const Config& config, const Console& console, const Outcome& outcome) {
  if (IsCrash(outcome) && config.console.mode != ConsoleMode::kStdio) {
    const std::string last = console.LastLines();
    if (!last.empty()) LogError("the guest's last console lines:\n" + last);
  }
  if (const uint64_t lost = console.lost_bytes(); lost != 0)
    LogError(std::to_string(lost) + " bytes of console output were lost: nobody read them");
}

}  // namespace

Outcome RunGuest(const Config& config) {
  auto host = OpenHost(config);
  if (!host.ok()) return HostError(host.error());
  Outcome outcome = RunOnce(config, **host);
  while (outcome.reason == EndReason::kReset && config.on_reboot == OnReboot::kRestart) {
    (*host)->ending.Reset();
    outcome = RunOnce(config, **host);
  }
  Console& console = *(*host)->console;
  console.Finish();
  ReportConsole(config, console, outcome);
  return outcome;
}

}  // namespace skiff
