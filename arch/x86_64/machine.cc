#include "arch/x86_64/machine.h"

#include <fmt/format.h>

#include <algorithm>

#include "arch/x86_64/boot/acpi/tables.h"
#include "arch/x86_64/boot/load_kernel.h"
#include "arch/x86_64/cpuid.h"
#include "arch/x86_64/failures.h"
#include "arch/x86_64/interrupt_chips.h"
#include "arch/x86_64/msrs.h"
#include "arch/x86_64/segments.h"
#include "devices/legacy/acpi_ports.h"
#include "devices/legacy/i8042.h"
#include "devices/legacy/pvpanic.h"
#include "devices/legacy/rtc_mc146818.h"
#include "devices/legacy/serial_8250.h"
#include "devices/pci/ecam.h"
#include "devices/pci/port_access.h"
#include "devices/virtio/pci/transport.h"

namespace skiff {

Result<std::unique_ptr<Machine>> Machine::Create(const MachineConfig& config, GuestEvents& events) {
  std::unique_ptr<Machine> machine = TRY(x86_64::Pc::Create(config, events));
  return machine;
}

namespace x86_64 {

namespace {

// 8-bit APIC ids but for 255, which means all CPUs: more of them need interrupt remapping.
constexpr uint32_t kMaxCpus = 255;

BusRange Attachable(uint64_t start, uint64_t length) {
  return BusRange::Make(Position<BusSpace>(start), length).value();
}

GuestRange Fixed(uint64_t start, uint64_t end) {
  return GuestRange::Make(GuestAddr(start), end - start).value();
}

Result<void> CheckCpus(uint32_t cpus, const kvm::Kvm& kvm) {
  const uint32_t limit = std::min(kvm.max_vcpus(), kMaxCpus);
  if (cpus >= 1 && cpus <= limit) return {};
  return Invalid(fmt::format("{} CPUs: choose 1 to {}{}", cpus, limit,
                             limit < kMaxCpus ? ", the limit of this host's KVM" : ""));
}

Result<void> CheckAddressable(const std::vector<GuestRange>& ram, const CpuidTable& supported) {
  const uint32_t bits = PhysicalAddressBits(supported);
  const uint64_t limit = uint64_t{1} << std::min(bits, 52u);
  if (ram.back().end().value() <= limit) return {};
  return Invalid(
      fmt::format("guest memory up to {} GiB: this host's processors address {} GiB ({} bits); "
                  "choose less memory",
                  ram.back().end().value() / kGiB, limit / kGiB, bits));
}

Platform Describe(uint32_t cpus, const std::vector<GuestRange>& ram) {
  Platform platform;
  platform.cpus = cpus;
  platform.low_ram = ram[0];
  if (ram.size() > 1) platform.high_ram = ram[1];
  platform.ecam = Fixed(kEcamStart, kEcamStart + kEcamBytes);
  platform.mmio_window = Fixed(kPciWindowStart, kPciWindowEnd);
  platform.kvm_pages = Fixed(kKvmPagesStart, kKvmPagesEnd);
  platform.local_apic = kLocalApicAddress;
  platform.io_apic = kIoApicAddress;
  for (uint32_t line = 0; line < kPciIntxLines; ++line)
    platform.intx_gsis[line] = static_cast<uint8_t>(kPciIntxFirstGsi + line);
  return platform;
}

}  // namespace

Result<std::unique_ptr<Pc>> Pc::Create(const MachineConfig& config, GuestEvents& events) {
  const kvm::Kvm kvm = TRY(kvm::Kvm::Open(KvmRequirements()));
  TRY(CheckCpus(config.cpus, kvm));
  const CpuidTable supported = TRY(SupportedCpuid(kvm));
  const std::vector<GuestRange> ram = TRY(RamRanges(config.memory_bytes));
  TRY(CheckAddressable(ram, supported));

  GuestMemory memory = TRY(GuestMemory::Allocate(ram));
  std::unique_ptr<kvm::Vm> vm = TRY(kvm::Vm::Create(kvm));
  TRY(CreateInterruptChips(*vm));
  std::unique_ptr<kvm::MsiRoutes> routes = TRY(MakeMsiRoutes(kvm, *vm));
  TRY(vm->MapMemory(memory));
  std::unique_ptr<Pc> pc(new Pc(std::move(memory), std::move(vm), std::move(routes),
                                Describe(config.cpus, ram), events));
  TRY(pc->CreateVcpus(kvm, supported));
  TRY(pc->AttachPci());
  return pc;
}

Pc::Pc(GuestMemory memory, std::unique_ptr<kvm::Vm> vm, std::unique_ptr<kvm::MsiRoutes> routes,
       const Platform& platform, GuestEvents& events)
    : memory_(std::move(memory)),
      vm_(std::move(vm)),
      routes_(std::move(routes)),
      platform_(platform),
      events_(events),
      com1_wire_(vm_->fd(), kCom1Gsi),
      intx_wires_{{{vm_->fd(), platform.intx_gsis[0]},
                   {vm_->fd(), platform.intx_gsis[1]},
                   {vm_->fd(), platform.intx_gsis[2]},
                   {vm_->fd(), platform.intx_gsis[3]}}},
      pci_(pci::MmioSpace{mmio_, platform.mmio_window, platform.mmio64_window},
           {{{intx_wires_[0], platform.intx_gsis[0]},
             {intx_wires_[1], platform.intx_gsis[1]},
             {intx_wires_[2], platform.intx_gsis[2]},
             {intx_wires_[3], platform.intx_gsis[3]}}}) {}

// The buses outlive the PCI root, and these devices on them must not.
Pc::~Pc() {
  ports_.Detach(Attachable(pci::PortAccess::kFirstPort, pci::PortAccess::kPorts));
  mmio_.Detach(Attachable(kEcamStart, kEcamBytes));
}

Result<void> Pc::AttachPci() {
  TRY(ports_.Attach(Attachable(pci::PortAccess::kFirstPort, pci::PortAccess::kPorts),
                    std::make_shared<pci::PortAccess>(pci_, events_)));
  return mmio_.Attach(Attachable(kEcamStart, kEcamBytes), std::make_shared<pci::Ecam>(pci_));
}

Result<void> Pc::CreateVcpus(const kvm::Kvm& kvm, const CpuidTable& supported) {
  const CpuidOptions options{.cpus = platform_.cpus,
                             .tsc_deadline_timer = kvm.Extension(KVM_CAP_TSC_DEADLINE_TIMER) > 0};
  for (uint32_t index = 0; index < platform_.cpus; ++index) {
    std::unique_ptr<kvm::Vcpu> vcpu = TRY(vm_->CreateVcpu(index));
    TRY(SetCpuid(*vcpu, GuestCpuid(supported, options, index)));
    TRY(SetFirmwareMsrs(*vcpu));
    vcpus_.push_back(std::move(vcpu));
  }
  return SetFirmwareApic(*vcpus_[0]);
}

Result<void> Pc::AddSerial(CharacterPort& port) {
  platform_.has_serial = true;
  return ports_.Attach(Attachable(kCom1Port, kComPorts),
                       std::make_shared<Serial8250>(com1_wire_, port));
}

Result<void> Pc::AddRtc() {
  platform_.has_rtc = true;
  return ports_.Attach(Attachable(kCmosPort, kCmosPorts), std::make_shared<RtcMc146818>());
}

Result<void> Pc::AddResetControl() {
  TRY(ports_.Attach(Attachable(kI8042PortBase, kI8042Ports), std::make_shared<I8042>(events_)));
  return ports_.Attach(Attachable(kAcpiPortBase, kAcpiPorts), std::make_shared<AcpiPorts>(events_));
}

Result<void> Pc::AddPanicDevice() {
  platform_.has_pvpanic = true;
  return ports_.Attach(Attachable(kPvpanicPort, kPvpanicPorts), std::make_shared<Pvpanic>(events_));
}

Result<void> Pc::AddVirtio(std::unique_ptr<virtio::Device> device) {
  const virtio::PciHost host{memory_, *routes_, *vm_};
  return pci_.Add([&](const pci::Slot& slot) {
    return virtio::MakePciFunction(slot, std::move(device), host);
  });
}

Result<void> Pc::Load(const BootConfig& boot) {
  const GuestAddr rsdp = TRY(acpi::WriteTables(memory_, platform_));
  const KernelEntry entry = TRY(LoadKernel(memory_, platform_, rsdp, boot));
  return EnterKernel(*vcpus_[0], memory_, entry);
}

bool Pc::ResetFollowedPanic() const {
  const auto word = memory_.Read<uint16_t>(GuestAddr(kWarmBootWordAddress));
  return word.ok() && *word == kWarmBootWord;
}

bool Pc::VcpuHalted(uint32_t index) { return IsHaltedForGood(*vcpus_[index]); }

std::string Pc::DescribeFailure(uint32_t index, const kvm::Exit& exit) {
  return x86_64::DescribeFailure(*vcpus_[index], exit);
}

}  // namespace x86_64
}  // namespace skiff
