#include "arch/x86_64/failures.h"

#include <fmt/format.h>

#include "arch/kvm/kvm.h"
#include "base/overloaded.h"
#include "third_party/linux_kvm.h"

namespace skiff::x86_64 {

namespace {

constexpr uint64_t kRflagsInterrupts = 1 << 9;
constexpr char kAdvice[] =
    "this host's KVM cannot run the guest's code (KVM inside a virtual machine or emulated by "
    "software often cannot): use a host with hardware virtualisation, or tests/lab/run";

std::string Place(const kvm::Vcpu& vcpu) {
  kvm_regs regs{};
  kvm_sregs sregs{};
  if (!kvm::Call(vcpu.fd(), KVM_GET_REGS, "KVM_GET_REGS", &regs).ok() ||
      !kvm::Call(vcpu.fd(), KVM_GET_SREGS, "KVM_GET_SREGS", &sregs).ok())
    return fmt::format("vCPU {}", vcpu.index());
  return fmt::format("vCPU {} at RIP {:#x} (CS {:#x}, CR0 {:#x}, CR3 {:#x})", vcpu.index(),
                     regs.rip, sregs.cs.selector, sregs.cr0, sregs.cr3);
}

std::string Describe(const kvm::InternalErrorExit& exit, const std::string& place) {
  if (exit.suberror != KVM_INTERNAL_ERROR_EMULATION)
    return fmt::format("{}: KVM reports internal error {}: {}", place, exit.suberror, kAdvice);
  std::string bytes;
  for (const std::byte byte : exit.instruction)
    bytes += fmt::format(" {:02x}", std::to_integer<unsigned>(byte));
  return fmt::format("{}: KVM could not emulate the instruction{}{}: {}", place,
                     bytes.empty() ? "" : " with the bytes", bytes, kAdvice);
}

std::string Describe(const kvm::HostErrorExit& exit, const std::string& place) {
  return fmt::format("{}: {}: {}", place, Error::FromErrno("KVM_RUN", exit.os_error).message(),
                     kAdvice);
}

std::string Describe(const kvm::FailEntryExit& exit, const std::string& place) {
  return fmt::format("{}: the processor refused to enter the guest (hardware reason {:#x}): {}",
                     place, exit.hardware_reason, kAdvice);
}

std::string Describe(const kvm::UnknownExit& exit, const std::string& place) {
  return fmt::format("{}: KVM stopped for a reason that skiff does not know ({})", place,
                     exit.reason);
}

}  // namespace

std::string DescribeFailure(const kvm::Vcpu& vcpu, const kvm::Exit& exit) {
  const std::string place = Place(vcpu);
  return std::visit(Overloaded{
                        [&](const kvm::InternalErrorExit& error) { return Describe(error, place); },
                        [&](const kvm::HostErrorExit& error) { return Describe(error, place); },
                        [&](const kvm::FailEntryExit& error) { return Describe(error, place); },
                        [&](const kvm::UnknownExit& error) { return Describe(error, place); },
                        [&](const kvm::SystemEventExit& event) {
                          return fmt::format("{}: system event {}", place, event.type);
                        },
                        [&](const auto&) { return place + ": stopped"; },
                    },
                    exit);
}

bool IsHaltedForGood(const kvm::Vcpu& vcpu) {
  kvm_mp_state state{};
  if (!kvm::Call(vcpu.fd(), KVM_GET_MP_STATE, "KVM_GET_MP_STATE", &state).ok()) return false;
  switch (state.mp_state) {
    case KVM_MP_STATE_UNINITIALIZED:
    case KVM_MP_STATE_INIT_RECEIVED:
      return true;
    case KVM_MP_STATE_HALTED: {
      kvm_regs regs{};
      if (!kvm::Call(vcpu.fd(), KVM_GET_REGS, "KVM_GET_REGS", &regs).ok()) return false;
      return (regs.rflags & kRflagsInterrupts) == 0;
    }
    default:
      return false;
  }
}

}  // namespace skiff::x86_64
