#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "base/event_loop.h"
#include "vmm/ending.h"
#include "vmm/vcpu_thread.h"

namespace skiff {

// Notices a guest that halted. With the interrupt controller in the kernel, HLT never leaves KVM,
// so once a second this compares the CPU time of the vCPU threads; after three seconds without
// any, it asks each vCPU whether it is halted with interrupts off. If all are, nothing can wake
// the guest again and the run ends with kHalted. A guest that works is never disturbed.
//
// Lives on the main thread; loop, threads and ending outlive it.
class HaltWatch {
 public:
  HaltWatch(EventLoop& loop, const std::vector<std::unique_ptr<VcpuThread>>& threads,
            Ending& ending);
  ~HaltWatch();
  HaltWatch(const HaltWatch&) = delete;
  HaltWatch& operator=(const HaltWatch&) = delete;

 private:
  void Arm();
  void Tick();
  bool AllHalted() const;

  EventLoop& loop_;
  const std::vector<std::unique_ptr<VcpuThread>>& threads_;
  Ending& ending_;
  EventLoop::TimerId timer_ = 0;
  uint64_t last_cpu_nanoseconds_ = 0;
  uint32_t idle_seconds_ = 0;
};

}  // namespace skiff
