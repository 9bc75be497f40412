#include <gtest/gtest.h>

#include <string>

#include "arch/x86_64/failures.h"
#include "arch/x86_64/layout.h"
#include "arch/x86_64/little_guest.h"
#include "base/event_fd.h"

namespace skiff::x86_64 {
namespace {

// The next exit that is not an interruption, as T.
template <typename T>
T Expect(LittleGuest& guest) {
  for (;;) {
    const kvm::Exit exit = guest.vcpu().Run();
    if (std::holds_alternative<kvm::InterruptedExit>(exit)) continue;
    if (const T* wanted = std::get_if<T>(&exit)) return *wanted;
    ADD_FAILURE() << "exit of another kind: " << DescribeFailure(guest.vcpu(), exit);
    return {};
  }
}

uint32_t Value(std::span<const std::byte> data) {
  uint32_t value = 0;
  for (size_t i = data.size(); i > 0; --i)
    value = value << 8 | std::to_integer<uint32_t>(data[i - 1]);
  return value;
}

TEST(KvmExits, PortWritesShowPortWidthAndValue) {
  LittleGuest guest({
      0xB0, 0x5A,        // mov al, 0x5A
      0xE6, 0x10,        // out 0x10, al
      0xB8, 0x34, 0x12,  // mov ax, 0x1234
      0xBA, 0xF8, 0x03,  // mov dx, 0x3F8
      0xEF,              // out dx, ax
  });
  const auto byte = Expect<kvm::PortExit>(guest);
  EXPECT_TRUE(byte.is_write);
  EXPECT_EQ(byte.port, 0x10);
  EXPECT_EQ(byte.width, 1);
  EXPECT_EQ(byte.count, 1u);
  EXPECT_EQ(Value(byte.data), 0x5Au);
  const auto word = Expect<kvm::PortExit>(guest);
  EXPECT_EQ(word.port, 0x3F8);
  EXPECT_EQ(word.width, 2);
  EXPECT_EQ(Value(word.data), 0x1234u);
}

TEST(KvmExits, TheGuestGetsWhatAPortReadIsAnswered) {
  LittleGuest guest({
      0xE4, 0x61,  // in al, 0x61: the PIT's, answered in the kernel
      0xE5, 0x12,  // in ax, 0x12
      0xE7, 0x14,  // out 0x14, ax
  });
  const auto read = Expect<kvm::PortExit>(guest);
  EXPECT_FALSE(read.is_write);
  EXPECT_EQ(read.port, 0x12);
  ASSERT_EQ(read.data.size(), 2u);
  read.data[0] = std::byte{0xCD};
  read.data[1] = std::byte{0xAB};
  EXPECT_EQ(Value(Expect<kvm::PortExit>(guest).data), 0xABCDu);
}

TEST(KvmExits, StringOutputArrivesWhole) {
  LittleGuest guest({
      0xBE, 0x00, 0x90,  // mov si, 0x9000
      0xB9, 0x05, 0x00,  // mov cx, 5
      0xBA, 0x10, 0x00,  // mov dx, 0x10
      0xFC,              // cld
      0xF3, 0x6E,        // rep outsb
      0xE6, 0x11,        // out 0x11, al
  });
  guest.Place(0x9000, {'s', 'k', 'i', 'f', 'f'});
  std::string sent;
  for (;;) {
    const auto exit = Expect<kvm::PortExit>(guest);
    if (exit.port != 0x10) break;
    ASSERT_EQ(exit.data.size(), size_t{exit.count} * exit.width);
    for (const std::byte byte : exit.data) sent.push_back(std::to_integer<char>(byte));
  }
  EXPECT_EQ(sent, "skiff");
}

TEST(KvmExits, MmioReadsAndWritesOutsideRam) {
  LittleGuest guest({
      0xBB, 0xFF, 0xFF, 0x8E, 0xDB,  // mov bx, 0xFFFF; mov ds, bx
      0xA1, 0x10, 0x10,              // mov ax, [0x1010]
      0x40,                          // inc ax
      0xA3, 0x20, 0x10,              // mov [0x1020], ax
  });
  const auto read = Expect<kvm::MmioExit>(guest);
  EXPECT_FALSE(read.is_write);
  EXPECT_EQ(read.address, 0xFFFF0u + 0x1010);
  ASSERT_EQ(read.data.size(), 2u);
  read.data[0] = std::byte{0xFE};
  read.data[1] = std::byte{0x01};
  const auto write = Expect<kvm::MmioExit>(guest);
  EXPECT_TRUE(write.is_write);
  EXPECT_EQ(write.address, 0xFFFF0u + 0x1020);
  EXPECT_EQ(Value(write.data), 0x01FFu);
}

TEST(KvmExits, ATripleFaultIsAShutdown) {
  LittleGuest guest({
      0x0F, 0x01, 0x1E, 0x00, 0x90,  // lidt [0x9000]: a table without entries
      0xCD, 0x03,                    // int 3
  });
  Expect<kvm::ShutdownExit>(guest);
}

// Two bytes that are no instruction outside of RAM: KVM has to fetch them as MMIO and gives up.
TEST(KvmExits, CodeOutsideRamIsAnErrorInWords) {
  LittleGuest guest({0xEA, 0x00, 0x20, 0xFF, 0xFF});  // jmp 0xFFFF:0x2000
  kvm::Exit exit = guest.vcpu().Run();
  while (std::holds_alternative<kvm::InterruptedExit>(exit)) exit = guest.vcpu().Run();
  ASSERT_TRUE(std::holds_alternative<kvm::InternalErrorExit>(exit)) << exit.index();
  const std::string text = DescribeFailure(guest.vcpu(), exit);
  EXPECT_NE(text.find("RIP 0x2000"), std::string::npos) << text;
  EXPECT_NE(text.find("could not emulate"), std::string::npos) << text;
}

TEST(KvmDoorbell, SignalsWithoutAnExitForAnyWidthUntilItIsTakenBack) {
  LittleGuest guest({
      0xBB, 0xFF, 0xFF, 0x8E, 0xDB,  // mov bx, 0xFFFF; mov ds, bx
      0xA2, 0x10, 0x10,              // mov [0x1010], al
      0xE6, 0x10,                    // out 0x10, al
      0xA3, 0x10, 0x10,              // mov [0x1010], ax
      0xE6, 0x11,                    // out 0x11, al
      0xA3, 0x10, 0x10,              // mov [0x1010], ax
  });
  const GuestAddr address(0xFFFF0 + 0x1010);
  const auto event = EventFd::Make();
  ASSERT_TRUE(event.ok());
  ASSERT_TRUE(guest.vm().BindDoorbell(address, event->fd()).ok());
  EXPECT_FALSE(guest.vm().BindDoorbell(address, event->fd()).ok());  // it is there already

  EXPECT_EQ(Expect<kvm::PortExit>(guest).port, 0x10);
  EXPECT_TRUE(event->Drain());
  EXPECT_EQ(Expect<kvm::PortExit>(guest).port, 0x11);
  EXPECT_TRUE(event->Drain());

  guest.vm().UnbindDoorbell(address, event->fd());
  EXPECT_EQ(Expect<kvm::MmioExit>(guest).address, address.value());
  EXPECT_FALSE(event->Drain());
}

TEST(KvmHalt, TellsASleepForEverFromAWaitForInterrupts) {
  LittleGuest guest({0xFB, 0xF4, 0xFA, 0xF4});  // sti; hlt; cli; hlt
  guest.vcpu().Kick();
  ASSERT_TRUE(std::holds_alternative<kvm::InterruptedExit>(guest.vcpu().Run()));
  EXPECT_FALSE(IsHaltedForGood(guest.vcpu()));  // it has not even begun
  for (const auto& [address, for_good] : {std::pair{0x8000, false}, std::pair{0x8002, true}}) {
    guest.Jump(static_cast<uint16_t>(address));
    guest.RunForMilliseconds(50);
    EXPECT_EQ(IsHaltedForGood(guest.vcpu()), for_good) << address;
    kvm_mp_state runnable{KVM_MP_STATE_RUNNABLE};
    ASSERT_TRUE(kvm::Call(guest.vcpu().fd(), KVM_SET_MP_STATE, "KVM_SET_MP_STATE", &runnable).ok());
  }
}

TEST(KvmHalt, AVcpuThatWasNeverStartedSleepsForGood) {
  LittleGuest guest({0xF4});
  const auto second = guest.vm().CreateVcpu(1);
  ASSERT_TRUE(second.ok());
  EXPECT_TRUE(IsHaltedForGood(**second));
}

}  // namespace
}  // namespace skiff::x86_64
