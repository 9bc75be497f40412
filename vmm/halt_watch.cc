#include "vmm/halt_watch.h"

#include <algorithm>

namespace skiff {
namespace {

constexpr auto kPeriod = std::chrono::seconds(1);
constexpr uint32_t kIdlePeriodsBeforeAsking = 3;
// A vCPU that is asked, or a host that accounts in ticks, shows a little CPU time.
constexpr uint64_t kNoiseNanoseconds = 1'000'000;

}  // namespace

HaltWatch::HaltWatch(EventLoop& loop, const std::vector<std::unique_ptr<VcpuThread>>& threads,
                     Ending& ending)
    : loop_(loop), threads_(threads), ending_(ending) {
  Arm();
}

HaltWatch::~HaltWatch() { loop_.CancelTimer(timer_); }

void HaltWatch::Arm() {
  timer_ = loop_.SetTimer(EventLoop::Clock::now() + kPeriod, [this] { Tick(); });
}

void HaltWatch::Tick() {
  uint64_t now = 0;
  for (const auto& thread : threads_) now += thread->cpu_nanoseconds();
  const bool idle = now - last_cpu_nanoseconds_ < kNoiseNanoseconds;
  last_cpu_nanoseconds_ = now;
  idle_seconds_ = idle ? idle_seconds_ + 1 : 0;
  if (idle_seconds_ == kIdlePeriodsBeforeAsking) {
    for (const auto& thread : threads_) thread->AskWhetherHalted();
  } else if (idle_seconds_ > kIdlePeriodsBeforeAsking) {
    if (AllHalted()) {
      ending_.Set({EndReason::kHalted, 0, {}});
      return;
    }
    idle_seconds_ = 0;
  }
  Arm();
}

bool HaltWatch::AllHalted() const {
  return std::all_of(threads_.begin(), threads_.end(),
                     [](const auto& thread) { return thread->halted().value_or(false); });
}

}  // namespace skiff
