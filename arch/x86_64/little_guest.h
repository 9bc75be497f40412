#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "arch/kvm/kvm.h"
#include "arch/kvm/msi_routes.h"
#include "arch/kvm/vcpu.h"
#include "arch/kvm/vm.h"
#include "base/guest_memory.h"

namespace skiff::x86_64 {

// A PC with 1 MiB of memory and one vCPU in real mode, at kCodeAddress with segments 0: enough to
// see what KVM does with a few instructions. What cannot be made aborts the test program, with the
// reason.
class LittleGuest {
 public:
  static constexpr uint16_t kCodeAddress = 0x8000;
  static constexpr uint16_t kHandlerAddress = 0x9000;
  static constexpr uint16_t kStackAddress = 0x7000;

  explicit LittleGuest(const std::vector<uint8_t>& code);

  kvm::Vm& vm() { return *vm_; }
  kvm::Vcpu& vcpu() { return *vcpu_; }
  kvm::MsiRoutes& routes() { return *routes_; }
  const GuestMemory& memory() const { return memory_; }

  void Place(uint16_t address, const std::vector<uint8_t>& bytes);
  void Jump(uint16_t address);
  // Runs, on a thread of its own, until a kick that comes after this time.
  void RunForMilliseconds(uint32_t milliseconds);

  // Switches the local APIC on, in x2APIC mode, and lets `vector` run the code at kHandlerAddress.
  void EnableLocalApic();
  void SetVector(uint8_t vector);
  // Whether the local APIC waits to deliver `vector`.
  bool IsRequested(uint8_t vector);

 private:
  const kvm::Kvm kvm_;
  const GuestMemory memory_;
  std::unique_ptr<kvm::Vm> vm_;
  std::unique_ptr<kvm::MsiRoutes> routes_;
  std::unique_ptr<kvm::Vcpu> vcpu_;
};

}  // namespace skiff::x86_64
