#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <random>
#include <thread>
#include <vector>

#include "arch/x86_64/little_guest.h"
#include "base/thread.h"

namespace skiff::x86_64 {
namespace {

using std::chrono::steady_clock;

// Runs the guest on a thread of its own and writes down the newest request it has seen after each
// interruption: what a run loop does with its stop flag.
class Answerer {
 public:
  explicit Answerer(LittleGuest& guest)
      : guest_(guest), thread_(Thread::Start("vcpu", [this] { Body(); }).value()) {}
  ~Answerer() {
    stop_.store(true, std::memory_order_relaxed);
    guest_.vcpu().Kick();
  }

  void Request(uint64_t number) {
    request_.store(number, std::memory_order_relaxed);  // Kick() has to order it
    guest_.vcpu().Kick();
  }
  bool WaitFor(uint64_t number) const {
    const auto deadline = steady_clock::now() + std::chrono::seconds(20);
    while (answer_.load() < number) {
      if (steady_clock::now() > deadline) return false;
      std::this_thread::yield();
    }
    return true;
  }

 private:
  void Body() {
    guest_.vcpu().Attach();
    while (!stop_.load(std::memory_order_relaxed)) {
      const kvm::Exit exit = guest_.vcpu().Run();
      if (std::holds_alternative<kvm::InterruptedExit>(exit))
        answer_.store(request_.load(std::memory_order_relaxed));
    }
    guest_.vcpu().Detach();
  }

  LittleGuest& guest_;
  std::atomic<bool> stop_{false};
  std::atomic<uint64_t> request_{0};
  std::atomic<uint64_t> answer_{0};
  Thread thread_;  // last: starts when the rest is there, joined first
};

struct Code {
  const char* name;
  std::vector<uint8_t> bytes;
  uint64_t waits;  // kicks that are waited for one by one
};

// A lost kick leaves the vCPU in the guest for ever, so each one is waited for, after a pause
// that puts it into another place of the run loop.
class KvmKicks : public testing::TestWithParam<Code> {};

TEST_P(KvmKicks, EachIsAnswered) {
  LittleGuest guest(GetParam().bytes);
  Answerer answerer(guest);
  std::mt19937 random(20261201);
  for (uint64_t number = 1; number <= GetParam().waits; ++number) {
    for (auto spin = random() % 2000; spin > 0; --spin) __builtin_ia32_pause();
    answerer.Request(number);
    ASSERT_TRUE(answerer.WaitFor(number)) << "kick " << number << " was lost";
  }
}

TEST_P(KvmKicks, TheLastOfABurstIsAnswered) {
  LittleGuest guest(GetParam().bytes);
  Answerer answerer(guest);
  constexpr uint64_t kKicks = 50'000;
  for (uint64_t number = 1; number <= kKicks; ++number) answerer.Request(number);
  EXPECT_TRUE(answerer.WaitFor(kKicks));
}

INSTANTIATE_TEST_SUITE_P(, KvmKicks,
                         testing::Values(Code{"Spinning", {0xEB, 0xFE}, 1'000},
                                         Code{"Halted", {0xFA, 0xF4}, 1'000},
                                         Code{"Exiting", {0xE6, 0x10, 0xEB, 0xFC}, 1'000}),
                         [](const auto& row) { return std::string(row.param.name); });

TEST(KvmKick, BeforeTheFirstRunIsKept) {
  LittleGuest guest({0xEB, 0xFE});
  guest.vcpu().Kick();
  EXPECT_TRUE(std::holds_alternative<kvm::InterruptedExit>(guest.vcpu().Run()));
}

TEST(KvmKick, FinishesTheExitBeforeIt) {
  LittleGuest guest({0xE4, 0x10, 0xEB, 0xFE});  // in al, 0x10; jmp $
  const kvm::Exit exit = guest.vcpu().Run();
  ASSERT_TRUE(std::holds_alternative<kvm::PortExit>(exit));
  std::get<kvm::PortExit>(exit).data[0] = std::byte{0x77};
  guest.vcpu().Kick();
  ASSERT_TRUE(std::holds_alternative<kvm::InterruptedExit>(guest.vcpu().Run()));
  kvm_regs regs{};
  ASSERT_TRUE(kvm::Call(guest.vcpu().fd(), KVM_GET_REGS, "KVM_GET_REGS", &regs).ok());
  EXPECT_EQ(regs.rax & 0xFF, 0x77u);
  EXPECT_EQ(regs.rip, LittleGuest::kCodeAddress + 2u);
}

}  // namespace
}  // namespace skiff::x86_64
