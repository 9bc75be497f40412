#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "arch/kvm/kvm.h"
#include "arch/kvm/vcpu.h"
#include "base/result.h"
#include "third_party/linux_kvm.h"

namespace skiff::x86_64 {

using CpuidTable = std::vector<kvm_cpuid_entry2>;

// What the guest's processors are, beside what the host's KVM can give them: one socket of `cpus`
// cores with one thread each, where CPU n has APIC id n.
struct CpuidOptions {
  uint32_t cpus = 1;
  bool tsc_deadline_timer = false;  // KVM_CAP_TSC_DEADLINE_TIMER; the supported table omits it
};

// KVM_GET_SUPPORTED_CPUID.
Result<CpuidTable> SupportedCpuid(const kvm::Kvm& kvm);

// The table of vCPU `index`: everything that `supported` offers, with the topology of `options`
// in place of the host's.
CpuidTable GuestCpuid(std::span<const kvm_cpuid_entry2> supported, const CpuidOptions& options,
                      uint32_t index);

// KVM_SET_CPUID2. Before the vCPU's other registers.
Result<void> SetCpuid(const kvm::Vcpu& vcpu, const CpuidTable& table);

// How wide the guest's physical addresses are: CPUID 0x80000008, or 36 without that leaf.
uint32_t PhysicalAddressBits(std::span<const kvm_cpuid_entry2> table);

}  // namespace skiff::x86_64
