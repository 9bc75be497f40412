#include "arch/x86_64/little_guest.h"

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <thread>

#include "arch/x86_64/cpuid.h"
#include "arch/x86_64/interrupt_chips.h"
#include "base/arith.h"
#include "base/thread.h"

namespace skiff::x86_64 {

namespace {

template <typename T>
T Must(Result<T> result) {
  if (result.ok()) return std::move(result).value();
  std::fprintf(stderr, "%s\n", result.error().message().c_str());
  std::abort();
}

void Must(Result<void> result) {
  if (result.ok()) return;
  std::fprintf(stderr, "%s\n", result.error().message().c_str());
  std::abort();
}

GuestMemory OneMiB() {
  const GuestRange range = Must(GuestRange::Make(GuestAddr(0), kMiB));
  return Must(GuestMemory::Allocate(std::span(&range, 1)));
}

kvm_segment RealModeSegment(const kvm_segment& like) {
  kvm_segment segment = like;
  segment.base = 0;
  segment.selector = 0;
  return segment;
}

constexpr uint32_t kApicSpuriousVector = 0xF0;
constexpr uint32_t kApicRequests = 0x200;  // 32 bits every 16 bytes
constexpr uint64_t kApicBaseX2apic = 1 << 10;

}  // namespace

LittleGuest::LittleGuest(const std::vector<uint8_t>& code)
    : kvm_(Must(kvm::Kvm::Open(KvmRequirements()))),
      memory_(OneMiB()),
      vm_(Must(kvm::Vm::Create(kvm_))) {
  Must(CreateInterruptChips(*vm_));
  routes_ = Must(MakeMsiRoutes(kvm_, *vm_));
  Must(vm_->MapMemory(memory_));
  vcpu_ = Must(vm_->CreateVcpu(0));
  Must(SetCpuid(*vcpu_, GuestCpuid(Must(SupportedCpuid(kvm_)), {.cpus = 1}, 0)));
  Place(kCodeAddress, code);

  kvm_sregs sregs{};
  Must(kvm::Call(vcpu_->fd(), KVM_GET_SREGS, "KVM_GET_SREGS", &sregs));
  for (kvm_segment* segment : {&sregs.cs, &sregs.ds, &sregs.es, &sregs.ss})
    *segment = RealModeSegment(*segment);
  Must(kvm::Call(vcpu_->fd(), KVM_SET_SREGS, "KVM_SET_SREGS", &sregs));
  Jump(kCodeAddress);
}

void LittleGuest::Place(uint16_t address, const std::vector<uint8_t>& bytes) {
  const auto range = Must(GuestRange::Make(GuestAddr(address), bytes.size()));
  Must(memory_.At(range)).CopyFrom(std::as_bytes(std::span(bytes)));
}

void LittleGuest::Jump(uint16_t address) {
  kvm_regs regs{};
  regs.rip = address;
  regs.rsp = kStackAddress;
  regs.rflags = 2;
  Must(kvm::Call(vcpu_->fd(), KVM_SET_REGS, "KVM_SET_REGS", &regs));
}

void LittleGuest::RunForMilliseconds(uint32_t milliseconds) {
  const Thread runner = Must(Thread::Start("vcpu", [this] {
    vcpu_->Attach();
    while (!std::holds_alternative<kvm::InterruptedExit>(vcpu_->Run())) continue;
    vcpu_->Detach();
  }));
  std::this_thread::sleep_for(std::chrono::milliseconds(milliseconds));
  vcpu_->Kick();
}

void LittleGuest::EnableLocalApic() {
  kvm_sregs sregs{};
  Must(kvm::Call(vcpu_->fd(), KVM_GET_SREGS, "KVM_GET_SREGS", &sregs));
  sregs.apic_base |= kApicBaseX2apic;
  Must(kvm::Call(vcpu_->fd(), KVM_SET_SREGS, "KVM_SET_SREGS", &sregs));
  kvm_lapic_state apic{};
  Must(kvm::Call(vcpu_->fd(), KVM_GET_LAPIC, "KVM_GET_LAPIC", &apic));
  apic.regs[kApicSpuriousVector] = static_cast<char>(0xFF);
  apic.regs[kApicSpuriousVector + 1] = 1;  // software enable
  Must(kvm::Call(vcpu_->fd(), KVM_SET_LAPIC, "KVM_SET_LAPIC", &apic));
}

void LittleGuest::SetVector(uint8_t vector) {
  const uint32_t far_pointer = kHandlerAddress;  // segment 0
  Must(memory_.Write(GuestAddr(uint64_t{vector} * 4), far_pointer));
}

bool LittleGuest::IsRequested(uint8_t vector) {
  kvm_lapic_state apic{};
  Must(kvm::Call(vcpu_->fd(), KVM_GET_LAPIC, "KVM_GET_LAPIC", &apic));
  const uint32_t byte = kApicRequests + vector / 32u * 16 + vector % 32u / 8;
  return (static_cast<uint8_t>(apic.regs[byte]) >> vector % 8u & 1) != 0;
}

}  // namespace skiff::x86_64
