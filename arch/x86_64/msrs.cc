#include "arch/x86_64/msrs.h"

#include <cstdint>
#include <cstring>
#include <optional>
#include <string>

#include "arch/kvm/kvm.h"
#include "base/log.h"
#include "third_party/linux_kvm.h"

namespace skiff::x86_64 {

namespace {

// Intel SDM vol. 4, 2.1 "Architectural MSRs".
constexpr uint32_t kMiscEnable = 0x1A0;
constexpr uint32_t kPat = 0x277;
constexpr uint32_t kMtrrDefaultType = 0x2FF;

constexpr uint64_t kFastStrings = 1 << 0;
constexpr uint64_t kPatAtReset = 0x0007040600070406;
// MTRRs on, everything write-back unless the page tables say otherwise: without it a kernel takes
// all memory for uncacheable.
constexpr uint64_t kMtrrEnable = 1 << 11;
constexpr uint64_t kMtrrWriteBack = 6;

// Intel SDM vol. 3A, 11.5.1 "Local Vector Table".
constexpr size_t kLvtLint0 = 0x350;
constexpr size_t kLvtLint1 = 0x360;
constexpr uint32_t kDeliverNmi = 4 << 8;
constexpr uint32_t kDeliverExtInt = 7 << 8;

// kvm_msrs with one entry, as the ioctls want it.
struct OneMsr {
  kvm_msrs header{};
  kvm_msr_entry entry{};
};
static_assert(sizeof(OneMsr) == sizeof(kvm_msrs) + sizeof(kvm_msr_entry));

OneMsr Named(uint32_t index) {
  OneMsr msr;
  msr.header.nmsrs = 1;
  msr.entry.index = index;
  return msr;
}

// KVM answers with how many registers it handled: 0 for one it does not know.
Result<std::optional<uint64_t>> ReadMsr(const kvm::Vcpu& vcpu, uint32_t index) {
  OneMsr msr = Named(index);
  const int handled = TRY(kvm::Call(vcpu.fd(), KVM_GET_MSRS, "KVM_GET_MSRS", &msr));
  if (handled == 0) return std::optional<uint64_t>();
  return std::optional<uint64_t>(msr.entry.data);
}

Result<void> WriteMsr(const kvm::Vcpu& vcpu, uint32_t index, uint64_t value) {
  OneMsr msr = Named(index);
  msr.entry.data = value;
  const int handled = TRY(kvm::Call(vcpu.fd(), KVM_SET_MSRS, "KVM_SET_MSRS", &msr));
  if (handled == 0) LogDebug("this host's KVM does not let us set MSR " + std::to_string(index));
  return {};
}

}  // namespace

Result<void> SetFirmwareMsrs(const kvm::Vcpu& vcpu) {
  const std::optional<uint64_t> misc_enable = TRY(ReadMsr(vcpu, kMiscEnable));
  if (misc_enable) TRY(WriteMsr(vcpu, kMiscEnable, *misc_enable | kFastStrings));
  TRY(WriteMsr(vcpu, kPat, kPatAtReset));
  TRY(WriteMsr(vcpu, kMtrrDefaultType, kMtrrEnable | kMtrrWriteBack));
  return {};
}

Result<void> SetFirmwareApic(const kvm::Vcpu& vcpu) {
  kvm_lapic_state apic{};
  TRY(kvm::Call(vcpu.fd(), KVM_GET_LAPIC, "KVM_GET_LAPIC", &apic));
  std::memcpy(apic.regs + kLvtLint0, &kDeliverExtInt, sizeof(kDeliverExtInt));
  std::memcpy(apic.regs + kLvtLint1, &kDeliverNmi, sizeof(kDeliverNmi));
  TRY(kvm::Call(vcpu.fd(), KVM_SET_LAPIC, "KVM_SET_LAPIC", &apic));
  return {};
}

}  // namespace skiff::x86_64
