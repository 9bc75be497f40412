#pragma once

#include <memory>
#include <string>
#include <vector>

#include "arch/machine.h"
#include "base/event_fd.h"
#include "base/event_loop.h"
#include "devices/guest_events.h"
#include "devices/virtio/blk/blk.h"
#include "vmm/config.h"
#include "vmm/ending.h"
#include "vmm/vcpu_thread.h"

namespace skiff {

// A machine and the threads that run it, for one life of the guest: a reboot makes a new one.
// Lives on the main thread; only OnGuestEvent() comes from others.
class Vm final : private GuestEvents {
 public:
  // Opens the disks, builds the machine and loads the kernel. `console`, `loop` and `ending`
  // outlive the result.
  static Result<std::unique_ptr<Vm>> Build(const Config& config, CharacterPort& console,
                                           EventLoop& loop, Ending& ending);
  ~Vm() override;
  Vm(const Vm&) = delete;
  Vm& operator=(const Vm&) = delete;

  // Runs the guest until `ending` is set; then all its threads have stopped. Call it once.
  Outcome Run();

 private:
  Vm(EventLoop& loop, Ending& ending, EventFd panicked)
      : loop_(loop), ending_(ending), panicked_event_(std::move(panicked)) {}
  void OnGuestEvent(GuestEvent event) override;
  void OnPanicked();
  Result<void> StartVcpus();
  Outcome Explain(Outcome outcome) const;
  bool NeverUsedItsDisks() const;

  EventLoop& loop_;
  Ending& ending_;
  EventFd panicked_event_;  // pvpanic reported; handled on the main thread
  std::atomic<bool> panicked_{false};
  EventLoop::TimerId panic_timer_ = 0;
  std::unique_ptr<Machine> machine_;
  std::vector<const virtio::Blk*> disks_;  // owned by machine_
  std::vector<std::unique_ptr<VcpuThread>> vcpus_;
};

}  // namespace skiff
