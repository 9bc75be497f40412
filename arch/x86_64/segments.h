#pragma once

#include "arch/kvm/vcpu.h"
#include "arch/x86_64/boot/load_kernel.h"
#include "base/guest_memory.h"
#include "base/result.h"

namespace skiff::x86_64 {

// Puts the first vCPU at a kernel's entry in the mode that it asks for: descriptor tables and, for
// 64-bit code, page tables in low memory, then segments, control and general registers, FPU. The
// vCPU has its CPUID and has never run. The other vCPUs stay as they are created: waiting for the
// guest's start-up message.
Result<void> EnterKernel(const kvm::Vcpu& vcpu, const GuestMemory& memory,
                         const KernelEntry& entry);

}  // namespace skiff::x86_64
