#pragma once

#include <memory>
#include <span>
#include <vector>

#include "arch/kvm/kvm.h"
#include "arch/kvm/msi_routes.h"
#include "arch/kvm/vm.h"
#include "base/result.h"

namespace skiff::x86_64 {

// The capabilities of KVM that a PC of ours cannot do without.
std::span<const kvm::Requirement> KvmRequirements();

// Puts the PC's interrupt controllers (two PICs, I/O APIC, a local APIC for each vCPU to come), its
// timer and the pages that KVM needs itself into a VM that has no vCPU yet.
Result<void> CreateInterruptChips(const kvm::Vm& vm);

// The routes of interrupts 0 to 23: to the PICs and the I/O APIC, the timer's to pin 2 of it.
std::vector<kvm_irq_routing_entry> InterruptChipRoutes();

// The owner of the VM's routes, with InterruptChipRoutes() in it; GSIs above them are for MSIs.
Result<std::unique_ptr<kvm::MsiRoutes>> MakeMsiRoutes(const kvm::Kvm& kvm, const kvm::Vm& vm);

}  // namespace skiff::x86_64
