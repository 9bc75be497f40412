#include "vmm/vcpu_thread.h"

#include <ctime>
#include <string>

#include "arch/kvm/vcpu.h"
#include "vmm/exits.h"

namespace skiff {

Result<std::unique_ptr<VcpuThread>> VcpuThread::Start(Machine& machine, uint32_t index,
                                                      Ending& ending) {
  std::unique_ptr<VcpuThread> vcpu(new VcpuThread(machine, index, ending));
  vcpu->thread_ =
      TRY(Thread::Start("vcpu" + std::to_string(index), [self = vcpu.get()] { self->Body(); }));
  return vcpu;
}

VcpuThread::~VcpuThread() { RequestStop(); }

void VcpuThread::RequestStop() {
  stop_.store(true, std::memory_order_release);
  vcpu_.Kick();
}

uint64_t VcpuThread::cpu_nanoseconds() const {
  clockid_t clock{};
  timespec time{};
  if (pthread_getcpuclockid(thread_->handle(), &clock) != 0) return 0;
  if (clock_gettime(clock, &time) != 0) return 0;
  return static_cast<uint64_t>(time.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(time.tv_nsec);
}

void VcpuThread::AskWhetherHalted() {
  halt_answer_.store(HaltAnswer::kAsked, std::memory_order_release);
  vcpu_.Kick();
}

std::optional<bool> VcpuThread::halted() const {
  const HaltAnswer answer = halt_answer_.load(std::memory_order_acquire);
  if (answer == HaltAnswer::kHalted) return true;
  if (answer == HaltAnswer::kAlive) return false;
  return std::nullopt;
}

void VcpuThread::AnswerWhetherHalted() {
  if (halt_answer_.load(std::memory_order_acquire) != HaltAnswer::kAsked) return;
  const bool halted = machine_.VcpuHalted(vcpu_.index());
  halt_answer_.store(halted ? HaltAnswer::kHalted : HaltAnswer::kAlive, std::memory_order_release);
}

void VcpuThread::Body() {
  vcpu_.Attach();
  while (!stop_.load(std::memory_order_acquire)) {
    const kvm::Exit exit = vcpu_.Run();
    if (std::holds_alternative<kvm::InterruptedExit>(exit)) {
      AnswerWhetherHalted();
      continue;
    }
    std::optional<Outcome> outcome = HandleExit(exit, machine_.ports(), machine_.mmio());
    if (!outcome) continue;
    if (outcome->reason == EndReason::kHostError)
      outcome->detail = machine_.DescribeFailure(vcpu_.index(), exit);
    ending_.Set(std::move(*outcome));
    break;
  }
  vcpu_.Detach();
}

}  // namespace skiff
