#include "devices/virtio/pci/transport.h"

#include <algorithm>
#include <array>
#include <bit>
#include <optional>
#include <utility>

#include "base/arith.h"
#include "base/mutex.h"
#include "devices/pci/bytes.h"
#include "devices/pci/config_space.h"

namespace skiff::virtio {
namespace {

using pci::ConfigSpace;

constexpr uint8_t kBarIndex = 0;

// As other monitors give them, so that guests name and order devices as they do there.
uint32_t ClassCode(DeviceType type) {
  switch (type) {
    case DeviceType::kNetwork:
      return 0x020000;  // Ethernet controller
    case DeviceType::kBlock:
      return 0x010000;  // SCSI storage controller
    case DeviceType::kConsole:
      return 0x078000;  // other communication controller
    case DeviceType::kEntropy:
      break;
  }
  return 0x00ff00;  // none of the classes
}

pci::Identity IdentityOf(DeviceType type) {
  const auto number = static_cast<uint16_t>(type);
  return {.vendor = kVirtioPciVendorId,
          .device = static_cast<uint16_t>(kVirtioPciFirstDeviceId + number),
          .revision = kVirtioPciRevision,
          .class_code = ClassCode(type),
          .subsystem_vendor = kVirtioPciVendorId,
          .subsystem = static_cast<uint16_t>(kVirtioPciFirstSubsystemId + number)};
}

VirtioPciCap Cap(VirtioPciCapType type, uint32_t offset, uint32_t length) {
  VirtioPciCap cap{};
  cap.cap_len = sizeof(VirtioPciCap);
  cap.cfg_type = static_cast<uint8_t>(type);
  cap.bar = kBarIndex;
  cap.offset = offset;
  cap.length = length;
  return cap;
}

// ID and next pointer, which ConfigSpace writes.
template <typename T>
std::span<const std::byte> Body(const T& capability) {
  return std::as_bytes(std::span(&capability, 1)).subspan(2);
}

class PciTransport final : public pci::Function {
 public:
  PciTransport(const pci::Slot& slot, GuestAddr bar_address, std::shared_ptr<Registers> registers);
  ~PciTransport() override { registers_->BarMapped(std::nullopt); }
  PciTransport(const PciTransport&) = delete;
  PciTransport& operator=(const PciTransport&) = delete;

  std::string_view name() const override { return registers_->name(); }
  void ReadConfig(uint32_t offset, std::span<std::byte> data) override;
  void WriteConfig(uint32_t offset, std::span<const std::byte> data) override;
  void Reset() override;

 private:
  // A piece of the BAR that the driver selected for access through configuration space.
  struct Window {
    uint64_t offset;
    size_t length;
  };

  void AddCapabilities() REQUIRES(mutex_);
  void AddPciCfg() REQUIRES(mutex_);
  void ApplyLocked() REQUIRES(mutex_);
  // Whether an access meets pci_cfg_data.
  bool MeetsCfgData(uint32_t offset, size_t size) const;
  std::optional<Window> WindowLocked() const REQUIRES(mutex_);
  void FetchCfgData() EXCLUDES(mutex_);

  const std::shared_ptr<Registers> registers_;

  // Never held across a call into the device.
  Mutex mutex_;
  ConfigSpace config_ GUARDED_BY(mutex_);
  pci::Bar bar_ GUARDED_BY(mutex_);
  // Settled by the constructor.
  uint8_t msix_ = 0;
  uint32_t cfg_data_ = 0;
};

PciTransport::PciTransport(const pci::Slot& slot, GuestAddr bar_address,
                           std::shared_ptr<Registers> registers)
    : registers_(std::move(registers)),
      config_(IdentityOf(registers_->device_type())),
      bar_({.index = kBarIndex, .kind = pci::BarKind::kMemory32, .size = BarLayout::kBytes},
           bar_address, config_, slot.mmio, registers_) {
  MutexLock lock(mutex_);
  config_.SetInterruptPin(pci::kPinIntA, slot.interrupt_line);
  AddCapabilities();
}

// In the order in which drivers look for them, since each step along the list is an exit. They
// fit: 12 + 16 + 16 + 20 + 16 + 20 of 192 bytes.
void PciTransport::AddCapabilities() {
  using Layout = BarLayout;
  const auto msix = registers_->interrupts().msix().Capability(kBarIndex, Layout::kMsix);
  msix_ = config_.AddCapability(pci::CapabilityId::kMsix, msix.bytes, msix.writable).value_or(0);

  const auto add = [this](const auto& capability) REQUIRES(mutex_) {
    config_.AddCapability(pci::CapabilityId::kVendorSpecific, Body(capability), {});
  };
  add(Cap(VirtioPciCapType::kCommonCfg, Layout::kCommon, sizeof(VirtioPciCommonCfg)));
  add(Cap(VirtioPciCapType::kIsrCfg, Layout::kIsr, Layout::kIsrBytes));
  VirtioPciNotifyCap notify{};
  notify.cap = Cap(VirtioPciCapType::kNotifyCfg, Layout::kNotify,
                   kDoorbellStride * std::max<uint32_t>(registers_->queue_count(), 1));
  notify.cap.cap_len = sizeof notify;
  notify.notify_off_multiplier = kDoorbellStride;
  add(notify);
  // 5.4.4: the entropy device has no configuration, so a driver need not find where it is.
  if (registers_->device_type() != DeviceType::kEntropy)
    add(Cap(VirtioPciCapType::kDeviceCfg, Layout::kDeviceConfig, Layout::kDeviceConfigBytes));
  AddPciCfg();
}

void PciTransport::AddPciCfg() {
  VirtioPciCfgCap capability{};
  capability.cap = Cap(VirtioPciCapType::kPciCfg, 0, 0);
  capability.cap.cap_len = sizeof capability;
  VirtioPciCfgCap writable{};
  writable.cap.bar = 0xff;
  writable.cap.offset = 0xffffffff;
  writable.cap.length = 0xffffffff;
  writable.pci_cfg_data.fill(std::byte{0xff});
  const uint8_t at =
      config_.AddCapability(pci::CapabilityId::kVendorSpecific, Body(capability), Body(writable))
          .value_or(0);
  cfg_data_ = at + static_cast<uint32_t>(offsetof(VirtioPciCfgCap, pci_cfg_data));
}

void PciTransport::ReadConfig(uint32_t offset, std::span<std::byte> data) {
  if (MeetsCfgData(offset, data.size())) FetchCfgData();
  const bool interrupt = registers_->interrupts().InterruptStatus();
  MutexLock lock(mutex_);
  config_.Read(offset, data);
  if (interrupt && offset <= pci::kStatus && pci::kStatus - offset < data.size())
    data[pci::kStatus - offset] |= std::byte{pci::kStatusInterrupt};
}

void PciTransport::WriteConfig(uint32_t offset, std::span<const std::byte> data) {
  std::optional<Window> window;
  std::array<std::byte, 4> bytes{};
  {
    MutexLock lock(mutex_);
    config_.Write(offset, data);
    ApplyLocked();
    if (MeetsCfgData(offset, data.size())) window = WindowLocked();
    config_.Read(cfg_data_, bytes);
  }
  // VIRTIO 1.2, 4.1.4.9.1: a write to pci_cfg_data is one to the selected place of the BAR.
  if (window) registers_->Write(window->offset, std::span(bytes).first(window->length));
}

void PciTransport::Reset() {
  registers_->Reset();
  MutexLock lock(mutex_);
  config_.Reset();
  ApplyLocked();
}

// Makes the rest of the function follow its configuration space.
void PciTransport::ApplyLocked() {
  bar_.Update();
  registers_->BarMapped(bar_.mapped_at());
  registers_->interrupts().ConfigSpaceChanged(
      config_.Word(uint32_t{msix_} + pci::kMsixControl),
      (config_.command() & pci::kCommandInterruptDisable) != 0);
}

bool PciTransport::MeetsCfgData(uint32_t offset, size_t size) const {
  return offset < cfg_data_ + 4 && cfg_data_ < offset + size;
}

// VIRTIO 1.2, 4.1.4.9.2: drivers select 1, 2 or 4 aligned bytes inside a structure. Anything else
// selects nothing.
std::optional<PciTransport::Window> PciTransport::WindowLocked() const {
  const uint32_t cap = cfg_data_ - static_cast<uint32_t>(offsetof(VirtioPciCfgCap, pci_cfg_data));
  std::array<std::byte, 1> bar{};
  config_.Read(cap + static_cast<uint32_t>(offsetof(VirtioPciCap, bar)), bar);
  const uint64_t offset =
      config_.Dword(cap + static_cast<uint32_t>(offsetof(VirtioPciCap, offset)));
  const uint32_t length =
      config_.Dword(cap + static_cast<uint32_t>(offsetof(VirtioPciCap, length)));
  if (bar[0] != std::byte{kBarIndex} || (length != 1 && length != 2 && length != 4)) return {};
  if (!IsAligned(offset, length) || offset + length > BarLayout::kBytes) return {};
  return Window{offset, length};
}

// 4.1.4.9.1: a read of pci_cfg_data is one of the selected place.
void PciTransport::FetchCfgData() {
  std::optional<Window> window;
  {
    MutexLock lock(mutex_);
    window = WindowLocked();
  }
  if (!window) return;
  std::array<std::byte, 4> bytes{};
  const auto fetched = std::span(bytes).first(window->length);
  registers_->Read(window->offset, fetched);
  MutexLock lock(mutex_);
  config_.Store(cfg_data_, fetched);
}

}  // namespace

Result<std::unique_ptr<pci::Function>> MakePciFunction(const pci::Slot& slot,
                                                       std::unique_ptr<Device> device,
                                                       const PciHost& host) {
  auto registers = TRY(Registers::Make(std::move(device), host, slot.intx));
  const GuestAddr bar = TRY(slot.allocate_mmio(BarLayout::kBytes));
  return std::unique_ptr<pci::Function>(
      std::make_unique<PciTransport>(slot, bar, std::move(registers)));
}

}  // namespace skiff::virtio
