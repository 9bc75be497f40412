#pragma once

#include <optional>

#include "arch/kvm/vcpu.h"
#include "devices/bus.h"
#include "vmm/outcome.h"

namespace skiff {

// Answers one exit of a vCPU, on its thread: port and MMIO accesses go to their bus (nobody there:
// all-ones, writes are dropped). An Outcome when the guest cannot go on; its detail is empty for
// kHostError, the caller asks the machine for words.
std::optional<Outcome> HandleExit(const kvm::Exit& exit, Bus& ports, Bus& mmio);

}  // namespace skiff
