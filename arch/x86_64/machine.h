#pragma once

#include <array>
#include <memory>
#include <string>
#include <vector>

#include "arch/kvm/irq_wire.h"
#include "arch/kvm/kvm.h"
#include "arch/kvm/msi_routes.h"
#include "arch/kvm/vm.h"
#include "arch/machine.h"
#include "arch/x86_64/boot/platform.h"
#include "arch/x86_64/cpuid.h"
#include "arch/x86_64/layout.h"
#include "base/guest_memory.h"
#include "devices/bus.h"
#include "devices/pci/root.h"

namespace skiff::x86_64 {

// A PC: the Machine of x86-64. PCI is always there; the other devices as they are added.
class Pc final : public Machine {
 public:
  static Result<std::unique_ptr<Pc>> Create(const MachineConfig& config, GuestEvents& events);
  ~Pc() override;

  Result<void> AddSerial(CharacterPort& port) override;
  Result<void> AddRtc() override;
  Result<void> AddResetControl() override;
  Result<void> AddPanicDevice() override;
  Result<void> AddVirtio(std::unique_ptr<virtio::Device> device) override;
  Result<void> Load(const BootConfig& boot) override;

  uint32_t vcpu_count() const override { return static_cast<uint32_t>(vcpus_.size()); }
  kvm::Vcpu& vcpu(uint32_t index) override { return *vcpus_[index]; }
  Bus& ports() override { return ports_; }
  Bus& mmio() override { return mmio_; }
  const GuestMemory& memory() const override { return memory_; }
  bool ResetFollowedPanic() const override;
  bool VcpuHalted(uint32_t index) override;
  std::string DescribeFailure(uint32_t index, const kvm::Exit& exit) override;

 private:
  Pc(GuestMemory memory, std::unique_ptr<kvm::Vm> vm, std::unique_ptr<kvm::MsiRoutes> routes,
     const Platform& platform, GuestEvents& events);

  Result<void> AttachPci();
  Result<void> CreateVcpus(const kvm::Kvm& kvm, const CpuidTable& supported);

  // Destroyed from below: vCPUs, then devices, then what they use.
  const GuestMemory memory_;
  const std::unique_ptr<kvm::Vm> vm_;
  const std::unique_ptr<kvm::MsiRoutes> routes_;
  Platform platform_;  // grows with each Add…
  GuestEvents& events_;
  kvm::IrqWire com1_wire_;
  std::array<kvm::IrqWire, kPciIntxLines> intx_wires_;
  Bus ports_;
  Bus mmio_;
  pci::Root pci_;
  std::vector<std::unique_ptr<kvm::Vcpu>> vcpus_;
};

}  // namespace skiff::x86_64
