#include "vmm/vm.h"

#include <algorithm>

#include "vmm/build.h"
#include "vmm/halt_watch.h"

namespace skiff {
namespace {

// After pvpanic's report the guest's kernel still prints the end of its message, then resets.
constexpr auto kTimeForLastWords = std::chrono::seconds(2);

}  // namespace

Result<std::unique_ptr<Vm>> Vm::Build(const Config& config, CharacterPort& console, EventLoop& loop,
                                      Ending& ending) {
  EventFd panicked = TRY(EventFd::Make());
  std::unique_ptr<Vm> vm(new Vm(loop, ending, std::move(panicked)));
  GuestEvents& events = *vm;
  vm->machine_ = TRY(Machine::Create({config.memory_bytes, config.cpus}, events));
  vm->disks_ = TRY(AddDevices(config, console, *vm->machine_));
  TRY(vm->machine_->Load({config.kernel, config.initrd, KernelCommandLine(config)}));
  TRY(loop.Watch(vm->panicked_event_.fd(), [vm = vm.get()] { vm->OnPanicked(); }));
  return vm;
}

Vm::~Vm() {
  loop_.Unwatch(panicked_event_.fd());
  loop_.CancelTimer(panic_timer_);
}

void Vm::OnGuestEvent(GuestEvent event) {
  switch (event) {
    case GuestEvent::kPowerOff:
      return ending_.Set({panicked_ ? EndReason::kPanicked : EndReason::kPowerOff, 0, {}});
    case GuestEvent::kReset:
      return ending_.Set({panicked_ ? EndReason::kPanicked : EndReason::kReset, 0, {}});
    case GuestEvent::kPanicked:
      panicked_ = true;
      return panicked_event_.Signal();
    case GuestEvent::kCrashLoaded:
      return LogWarning("the guest's kernel panicked; its crash kernel takes over");
  }
}

void Vm::OnPanicked() {
  panicked_event_.Drain();
  if (panic_timer_ != 0) return;
  panic_timer_ = loop_.SetTimer(EventLoop::Clock::now() + kTimeForLastWords, [this] {
    ending_.Set({EndReason::kPanicked, 0, {}});
  });
}

Result<void> Vm::StartVcpus() {
  for (uint32_t index = 0; index < machine_->vcpu_count(); ++index)
    vcpus_.push_back(TRY(VcpuThread::Start(*machine_, index, ending_)));
  return {};
}

Outcome Vm::Run() {
  if (auto started = StartVcpus(); !started.ok())
    ending_.Set({EndReason::kHostError, 0, started.error().message()});
  {
    const HaltWatch halt_watch(loop_, vcpus_, ending_);
    while (!ending_.outcome()) loop_.Run();
  }
  for (const auto& vcpu : vcpus_) vcpu->RequestStop();
  vcpus_.clear();
  return Explain(*ending_.outcome());
}

Outcome Vm::Explain(Outcome outcome) const {
  if (outcome.reason == EndReason::kReset && machine_->ResetFollowedPanic())
    outcome.reason = EndReason::kPanicked;
  const bool maybe_no_root = outcome.reason == EndReason::kReset ||
                             outcome.reason == EndReason::kPanicked ||
                             outcome.reason == EndReason::kTimeout;
  if (maybe_no_root && outcome.detail.empty() && NeverUsedItsDisks())
    outcome.detail =
        "it never used its disks: kernel or initrd may lack virtio_pci and virtio_blk, "
        "or the initrd is missing";
  return outcome;
}

bool Vm::NeverUsedItsDisks() const {
  return !disks_.empty() && std::none_of(disks_.begin(), disks_.end(),
                                         [](const virtio::Blk* disk) { return disk->touched(); });
}

}  // namespace skiff
