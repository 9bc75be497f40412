#include "arch/x86_64/interrupt_chips.h"

#include <algorithm>

#include "arch/x86_64/layout.h"
#include "third_party/linux_kvm.h"

namespace skiff::x86_64 {

namespace {

constexpr uint32_t kPicIrqs = 16;  // of both; the second one's output is IRQ 2 of the first
constexpr uint32_t kPicPins = 8;   // of each
constexpr uint32_t kPicCascade = 2;

constexpr kvm::Requirement kRequirements[] = {
    {KVM_CAP_USER_MEMORY, "KVM_CAP_USER_MEMORY"},
    {KVM_CAP_SET_TSS_ADDR, "KVM_CAP_SET_TSS_ADDR"},
    {KVM_CAP_SET_IDENTITY_MAP_ADDR, "KVM_CAP_SET_IDENTITY_MAP_ADDR"},
    {KVM_CAP_EXT_CPUID, "KVM_CAP_EXT_CPUID"},
    {KVM_CAP_IRQCHIP, "KVM_CAP_IRQCHIP"},
    {KVM_CAP_PIT2, "KVM_CAP_PIT2"},
    {KVM_CAP_MP_STATE, "KVM_CAP_MP_STATE"},
    {KVM_CAP_IRQ_ROUTING, "KVM_CAP_IRQ_ROUTING"},
    {KVM_CAP_IRQFD, "KVM_CAP_IRQFD"},
    {KVM_CAP_IOEVENTFD, "KVM_CAP_IOEVENTFD"},
    {KVM_CAP_IOEVENTFD_ANY_LENGTH, "KVM_CAP_IOEVENTFD_ANY_LENGTH"},
    {KVM_CAP_IMMEDIATE_EXIT, "KVM_CAP_IMMEDIATE_EXIT"},
};

kvm_irq_routing_entry ChipRoute(uint32_t gsi, uint32_t chip, uint32_t pin) {
  kvm_irq_routing_entry entry{};
  entry.gsi = gsi;
  entry.type = KVM_IRQ_ROUTING_IRQCHIP;
  entry.u.irqchip.irqchip = chip;
  entry.u.irqchip.pin = pin;
  return entry;
}

}  // namespace

std::span<const kvm::Requirement> KvmRequirements() { return kRequirements; }

Result<void> CreateInterruptChips(const kvm::Vm& vm) {
  // Both before the first vCPU. Intel hosts without unrestricted guest mode run real mode with
  // these pages; others ignore them.
  TRY(kvm::Call(vm.fd(), KVM_SET_TSS_ADDR, "KVM_SET_TSS_ADDR", kTssAddress));
  const uint64_t identity_map = kIdentityMapAddress;
  TRY(kvm::Call(vm.fd(), KVM_SET_IDENTITY_MAP_ADDR, "KVM_SET_IDENTITY_MAP_ADDR", &identity_map));

  TRY(kvm::Call(vm.fd(), KVM_CREATE_IRQCHIP, "KVM_CREATE_IRQCHIP"));
  kvm_pit_config pit{};
  pit.flags = KVM_PIT_SPEAKER_DUMMY;  // port 0x61 too: guests time the TSC with it
  TRY(kvm::Call(vm.fd(), KVM_CREATE_PIT2, "KVM_CREATE_PIT2", &pit));
  return {};
}

std::vector<kvm_irq_routing_entry> InterruptChipRoutes() {
  std::vector<kvm_irq_routing_entry> routes;
  for (uint32_t irq = 0; irq < kPicIrqs; ++irq) {
    if (irq == kPicCascade) continue;
    const uint32_t chip = irq < kPicPins ? KVM_IRQCHIP_PIC_MASTER : KVM_IRQCHIP_PIC_SLAVE;
    routes.push_back(ChipRoute(irq, chip, irq % kPicPins));
  }
  for (uint32_t gsi = 0; gsi < kIoApicPins; ++gsi) {
    if (gsi == kPitIoApicPin) continue;  // the pin is the PIT's
    const uint32_t pin = gsi == kPitIrq ? kPitIoApicPin : gsi;
    routes.push_back(ChipRoute(gsi, KVM_IRQCHIP_IOAPIC, pin));
  }
  return routes;
}

Result<std::unique_ptr<kvm::MsiRoutes>> MakeMsiRoutes(const kvm::Kvm& kvm, const kvm::Vm& vm) {
  // KVM counts entries and bounds GSIs by the same number; the chips take more entries than GSIs.
  auto routes = InterruptChipRoutes();
  const auto limit = static_cast<uint32_t>(std::max(kvm.Extension(KVM_CAP_IRQ_ROUTING), 0));
  const auto fixed = static_cast<uint32_t>(routes.size());
  const uint32_t msis = limit > fixed ? limit - fixed : 0;
  return kvm::MsiRoutes::Make(vm.fd(), std::move(routes), kIoApicPins, kIoApicPins + msis);
}

}  // namespace skiff::x86_64
