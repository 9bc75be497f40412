#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <thread>
#include <vector>

#include "arch/kvm/irq_wire.h"
#include "arch/x86_64/layout.h"
#include "arch/x86_64/little_guest.h"
#include "base/thread.h"

namespace skiff::x86_64 {
namespace {

constexpr uint64_t kMsiAddress = kLocalApicAddress;  // physical destination 0

// irqfds may deliver a moment after the signal.
bool Arrives(LittleGuest& guest, uint8_t vector) {
  for (int i = 0; i < 5000; ++i) {
    if (guest.IsRequested(vector)) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return false;
}

TEST(KvmMsi, EachOfManyDeliversItsOwnVector) {
  LittleGuest guest({0xF4});
  guest.EnableLocalApic();
  std::vector<std::unique_ptr<MsiInterrupt>> interrupts;
  for (uint32_t vector = 32; vector < 232; ++vector) {
    auto interrupt = guest.routes().AllocateMsi();
    ASSERT_TRUE(interrupt.ok());
    ASSERT_TRUE((*interrupt)->SetMessage({kMsiAddress, vector}).ok());
    interrupts.push_back(std::move(*interrupt));
  }
  for (uint32_t i = 0; i < interrupts.size(); i += 2) interrupts[i]->Signal();
  for (uint32_t i = 0; i < interrupts.size(); i += 2)
    EXPECT_TRUE(Arrives(guest, static_cast<uint8_t>(32 + i))) << i;
  for (uint32_t i = 1; i < interrupts.size(); i += 2)
    EXPECT_FALSE(guest.IsRequested(static_cast<uint8_t>(32 + i))) << i;
}

TEST(KvmMsi, AChangedMessageReplacesTheOldOne) {
  LittleGuest guest({0xF4});
  guest.EnableLocalApic();
  auto interrupt = guest.routes().AllocateMsi();
  ASSERT_TRUE(interrupt.ok());
  (*interrupt)->Signal();  // no message yet: lost
  ASSERT_TRUE((*interrupt)->SetMessage({kMsiAddress, 0x40}).ok());
  ASSERT_TRUE((*interrupt)->SetMessage({kMsiAddress, 0x41}).ok());
  (*interrupt)->Signal();
  EXPECT_TRUE(Arrives(guest, 0x41));
  EXPECT_FALSE(guest.IsRequested(0x40));
}

TEST(KvmMsi, AReusedInterruptForgetsItsFormerMessage) {
  LittleGuest guest({0xF4});
  guest.EnableLocalApic();
  {
    auto first = guest.routes().AllocateMsi();
    ASSERT_TRUE(first.ok());
    ASSERT_TRUE((*first)->SetMessage({kMsiAddress, 0x50}).ok());
  }
  auto second = guest.routes().AllocateMsi();
  ASSERT_TRUE(second.ok());
  (*second)->Signal();
  ASSERT_TRUE((*second)->SetMessage({kMsiAddress, 0x51}).ok());
  (*second)->Signal();
  EXPECT_TRUE(Arrives(guest, 0x51));
  EXPECT_FALSE(guest.IsRequested(0x50));
}

TEST(KvmMsi, RunsOutWithAnErrorAndRecovers) {
  LittleGuest guest({0xF4});
  auto routes = kvm::MsiRoutes::Make(guest.vm().fd(), {}, 24, 26);
  ASSERT_TRUE(routes.ok());
  auto first = (*routes)->AllocateMsi();
  auto second = (*routes)->AllocateMsi();
  ASSERT_TRUE(first.ok() && second.ok());
  const auto third = (*routes)->AllocateMsi();
  ASSERT_FALSE(third.ok());
  EXPECT_EQ(third.error().code(), ErrorCode::kNoSpace);
  first->reset();
  EXPECT_TRUE((*routes)->AllocateMsi().ok());
}

// The whole way: eventfd, route, local APIC, the guest's handler, and back by a port.
TEST(KvmMsi, WakesAHaltedGuestEachTime) {
  LittleGuest guest({0xFB, 0xF4, 0xEB, 0xFC});  // sti; again: hlt; jmp again
  guest.Place(LittleGuest::kHandlerAddress, {
                                                0xE6, 0x10,                          // out 0x10, al
                                                0x66, 0xB9, 0x0B, 0x08, 0x00, 0x00,  // mov ecx, EOI
                                                0x66, 0x31, 0xC0,                    // xor eax, eax
                                                0x66, 0x31, 0xD2,                    // xor edx, edx
                                                0x0F, 0x30,                          // wrmsr
                                                0xCF,                                // iret
                                            });
  guest.EnableLocalApic();
  guest.SetVector(0x60);
  auto interrupt = guest.routes().AllocateMsi();
  ASSERT_TRUE(interrupt.ok());
  ASSERT_TRUE((*interrupt)->SetMessage({kMsiAddress, 0x60}).ok());
  for (int i = 0; i < 200; ++i) {
    (*interrupt)->Signal();
    kvm::Exit exit = guest.vcpu().Run();
    while (std::holds_alternative<kvm::InterruptedExit>(exit)) exit = guest.vcpu().Run();
    ASSERT_TRUE(std::holds_alternative<kvm::PortExit>(exit)) << i;
  }
}

TEST(KvmMsi, RoutesSurviveConcurrentUpdates) {
  LittleGuest guest({0xF4});
  guest.EnableLocalApic();
  {
    std::vector<Thread> threads;
    for (uint32_t t = 0; t < 4; ++t) {
      threads.push_back(Thread::Start("routes", [&, t] {
                          for (uint32_t i = 0; i < 50; ++i) {
                            auto interrupt = guest.routes().AllocateMsi();
                            EXPECT_TRUE(interrupt.ok());
                            const uint32_t vector = 32 + 50 * t + i;
                            EXPECT_TRUE((*interrupt)->SetMessage({kMsiAddress, vector}).ok());
                            (*interrupt)->Signal();
                            EXPECT_TRUE(Arrives(guest, static_cast<uint8_t>(vector)));
                          }
                        }).value());
    }
  }
}

// The interrupt controllers' own routes are carried through every update.
TEST(KvmIrqWire, ReachesBothControllersAndFollowsItsLevel) {
  LittleGuest guest({0xF4});
  const auto pic_requests = [&] {
    kvm_irqchip chip{};
    chip.chip_id = KVM_IRQCHIP_PIC_MASTER;
    EXPECT_TRUE(kvm::Call(guest.vm().fd(), KVM_GET_IRQCHIP, "KVM_GET_IRQCHIP", &chip).ok());
    return chip.chip.pic.irr;
  };
  const auto io_apic_requests = [&] {
    kvm_irqchip chip{};
    chip.chip_id = KVM_IRQCHIP_IOAPIC;
    EXPECT_TRUE(kvm::Call(guest.vm().fd(), KVM_GET_IRQCHIP, "KVM_GET_IRQCHIP", &chip).ok());
    return chip.chip.ioapic.irr;
  };
  auto msi = guest.routes().AllocateMsi();
  ASSERT_TRUE(msi.ok());
  ASSERT_TRUE((*msi)->SetMessage({kMsiAddress, 0x70}).ok());
  {
    kvm::IrqWire com1(guest.vm().fd(), kCom1Gsi);
    com1.Raise();
    com1.Raise();
    EXPECT_NE(pic_requests() & 1u << kCom1Gsi, 0u);
    EXPECT_NE(io_apic_requests() & 1u << kCom1Gsi, 0u);
  }
  EXPECT_EQ(io_apic_requests() & 1u << kCom1Gsi, 0u);  // its destructor lowers it

  kvm::IrqWire timer(guest.vm().fd(), kPitIrq);
  timer.Raise();
  EXPECT_NE(io_apic_requests() & 1u << kPitIoApicPin, 0u);
}

}  // namespace
}  // namespace skiff::x86_64
