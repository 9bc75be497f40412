#pragma once

#include <string>

#include "arch/kvm/vcpu.h"

namespace skiff::x86_64 {

// One line for the user on an exit after which the vCPU cannot go on: what KVM reported, where the
// vCPU was, what to try. From the vCPU's thread.
std::string DescribeFailure(const kvm::Vcpu& vcpu, const kvm::Exit& exit);

// True if the vCPU sleeps and no device interrupt can wake it: halted with interrupts off, or never
// started. From the vCPU's thread, between two runs.
bool IsHaltedForGood(const kvm::Vcpu& vcpu);

}  // namespace skiff::x86_64
