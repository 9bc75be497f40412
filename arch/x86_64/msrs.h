#pragma once

#include "arch/kvm/vcpu.h"
#include "base/result.h"

namespace skiff::x86_64 {

// Sets the model-specific registers that firmware would have set before it starts a kernel. Those
// that the host's KVM does not know are left alone. After the vCPU has its CPUID.
Result<void> SetFirmwareMsrs(const kvm::Vcpu& vcpu);

// Connects the local APIC's pins as firmware leaves them for the first processor: LINT0 to the
// PICs, LINT1 to NMI.
Result<void> SetFirmwareApic(const kvm::Vcpu& vcpu);

}  // namespace skiff::x86_64
