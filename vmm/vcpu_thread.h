#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>

#include "arch/machine.h"
#include "base/thread.h"
#include "vmm/ending.h"

namespace skiff {

// The thread that runs one vCPU until it is told to stop or the guest can't go on, which it
// reports to `ending`. Its destructor stops and joins it. Machine and ending outlive it; all
// methods are called from the main thread.
class VcpuThread {
 public:
  static Result<std::unique_ptr<VcpuThread>> Start(Machine& machine, uint32_t index,
                                                   Ending& ending);
  ~VcpuThread();
  VcpuThread(const VcpuThread&) = delete;
  VcpuThread& operator=(const VcpuThread&) = delete;

  // Makes the thread leave the guest for good; the destructor waits for that. Stop all threads
  // before destroying the first, so that they end together.
  void RequestStop();

  // CPU time that the thread has used, guest included.
  uint64_t cpu_nanoseconds() const;

  // Asks, at the price of one exit, whether the vCPU is halted for good; the answer is there
  // when halted() has a value.
  void AskWhetherHalted();
  std::optional<bool> halted() const;

 private:
  VcpuThread(Machine& machine, uint32_t index, Ending& ending)
      : machine_(machine), vcpu_(machine.vcpu(index)), ending_(ending) {}
  void Body();
  void AnswerWhetherHalted();

  enum class HaltAnswer : uint8_t { kNone, kAsked, kHalted, kAlive };

  Machine& machine_;
  kvm::Vcpu& vcpu_;
  Ending& ending_;
  std::atomic<bool> stop_{false};
  std::atomic<HaltAnswer> halt_answer_{HaltAnswer::kNone};
  std::optional<Thread> thread_;
};

}  // namespace skiff
