#include "devices/virtio/pci/registers.h"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <utility>
#include <vector>

#include "devices/pci/bytes.h"

namespace skiff::virtio {
namespace {

using pci::ToValue;

// A field by its offset and width, to switch on.
constexpr uint64_t Field(uint64_t offset, size_t width) { return offset << 4 | width; }

struct AddressField {
  uint64_t offset;
  QueueArea area;
};
constexpr AddressField kAddressFields[] = {
    {offsetof(VirtioPciCommonCfg, queue_desc), QueueArea::kDescriptor},
    {offsetof(VirtioPciCommonCfg, queue_driver), QueueArea::kDriver},
    {offsetof(VirtioPciCommonCfg, queue_device), QueueArea::kDevice},
};

// Entirely inside [start, start + length).
bool Inside(uint64_t offset, size_t size, uint64_t start, uint64_t length) {
  return offset >= start && offset + size <= start + length;
}

}  // namespace

Result<std::shared_ptr<Registers>> Registers::Make(std::unique_ptr<Device> device,
                                                   const PciHost& host, IrqLine& intx) {
  const size_t queues = device->max_queue_sizes().size();
  if (queues >= pci::Msix::kMaxVectors)
    return Unsupported("a virtio-pci device cannot have more than 127 queues");
  auto interrupts = std::make_unique<PciInterrupts>(static_cast<uint16_t>(queues), host.msi, intx);
  auto negotiation = TRY(Negotiation::Make(host.memory, *device, *interrupts));
  std::vector<int> kicks;
  for (uint16_t i = 0; i < queues; ++i) kicks.push_back(negotiation->kick_event(i).fd());
  auto doorbells = std::make_unique<Doorbells>(host.doorbells, std::move(kicks));
  return std::shared_ptr<Registers>(new Registers(std::move(device), std::move(interrupts),
                                                  std::move(negotiation), std::move(doorbells)));
}

Registers::Registers(std::unique_ptr<Device> device, std::unique_ptr<PciInterrupts> interrupts,
                     std::unique_ptr<Negotiation> negotiation, std::unique_ptr<Doorbells> doorbells)
    : device_(std::move(device)),
      interrupts_(std::move(interrupts)),
      negotiation_(std::move(negotiation)),
      doorbells_(std::move(doorbells)) {}

Registers::~Registers() = default;

std::string_view Registers::name() const {
  switch (device_type()) {
    case DeviceType::kNetwork:
      return "virtio-net-pci";
    case DeviceType::kBlock:
      return "virtio-blk-pci";
    case DeviceType::kConsole:
      return "virtio-console-pci";
    case DeviceType::kEntropy:
      return "virtio-rng-pci";
  }
  return "virtio-pci";
}

void Registers::Read(uint64_t offset, std::span<std::byte> data) {
  using Layout = BarLayout;
  if (offset >= Layout::kMsix) return interrupts_->msix().Read(offset - Layout::kMsix, data);

  std::fill(data.begin(), data.end(), std::byte{0});
  if (Inside(offset, data.size(), Layout::kCommon, sizeof(VirtioPciCommonCfg))) {
    const VirtioPciCommonCfg common = CommonCfg();
    pci::ReadSlice(std::as_bytes(std::span(&common, 1)), offset - Layout::kCommon, data);
  } else if (offset == Layout::kIsr) {
    data[0] = std::byte{interrupts_->ReadIsr()};
  } else if (Inside(offset, data.size(), Layout::kDeviceConfig, Layout::kDeviceConfigBytes)) {
    negotiation_->ReadConfig(static_cast<uint32_t>(offset - Layout::kDeviceConfig), data);
  }
}

void Registers::Write(uint64_t offset, std::span<const std::byte> data) {
  using Layout = BarLayout;
  if (offset >= Layout::kMsix) return interrupts_->msix().Write(offset - Layout::kMsix, data);

  // Kicks first: they arrive here when the machine could not bind the doorbell.
  if (offset >= Layout::kNotify) {
    const uint64_t queue = (offset - Layout::kNotify) / kDoorbellStride;
    negotiation_->Kick(static_cast<uint16_t>(queue));
  } else if (Inside(offset, data.size(), Layout::kCommon, sizeof(VirtioPciCommonCfg))) {
    WriteCommon(offset - Layout::kCommon, data);
  } else if (Inside(offset, data.size(), Layout::kDeviceConfig, Layout::kDeviceConfigBytes)) {
    WriteDeviceConfig(offset, data);
  }
}

void Registers::WriteDeviceConfig(uint64_t offset, std::span<const std::byte> data) {
  negotiation_->WriteConfig(static_cast<uint32_t>(offset - BarLayout::kDeviceConfig), data);
}

void Registers::BarMapped(std::optional<GuestAddr> at) {
  doorbells_->MoveTo(at ? std::optional(*at + BarLayout::kNotify) : std::nullopt);
}

void Registers::Reset() {
  WriteStatus(0);
  interrupts_->msix().Reset();
}

VirtioPciCommonCfg Registers::CommonCfg() const {
  const Negotiation& n = *negotiation_;
  const uint16_t queue = n.queue_select();
  VirtioPciCommonCfg common{};
  common.device_feature_select = n.device_feature_select();
  common.device_feature = n.DeviceFeatures();
  common.driver_feature_select = n.driver_feature_select();
  common.driver_feature = n.DriverFeatures();
  common.config_msix_vector = interrupts_->config_vector();
  common.num_queues = n.queue_count();
  common.device_status = n.status();
  common.config_generation = static_cast<uint8_t>(n.config_generation());
  common.queue_select = queue;
  common.queue_size = n.QueueSize();
  common.queue_msix_vector = interrupts_->QueueVector(queue);
  common.queue_enable = n.QueueEnabled() ? 1 : 0;
  common.queue_notify_off = queue < n.queue_count() ? queue : uint16_t{0};
  common.queue_desc = n.QueueAddress(QueueArea::kDescriptor);
  common.queue_driver = n.QueueAddress(QueueArea::kDriver);
  common.queue_device = n.QueueAddress(QueueArea::kDevice);
  return common;
}

void Registers::WriteCommon(uint64_t offset, std::span<const std::byte> data) {
  const uint64_t value = ToValue(data);
  if (WriteQueueAddress(offset, data.size(), value)) return;
  Negotiation& n = *negotiation_;
  const auto word = static_cast<uint16_t>(value);
  const auto dword = static_cast<uint32_t>(value);
  switch (Field(offset, data.size())) {
    case Field(offsetof(VirtioPciCommonCfg, device_feature_select), 4):
      return n.SelectDeviceFeatures(dword);
    case Field(offsetof(VirtioPciCommonCfg, driver_feature_select), 4):
      return n.SelectDriverFeatures(dword);
    case Field(offsetof(VirtioPciCommonCfg, driver_feature), 4):
      return n.AcceptFeatures(dword);
    case Field(offsetof(VirtioPciCommonCfg, config_msix_vector), 2):
      return interrupts_->SetConfigVector(word);
    case Field(offsetof(VirtioPciCommonCfg, device_status), 1):
      return WriteStatus(static_cast<uint8_t>(value));
    case Field(offsetof(VirtioPciCommonCfg, queue_select), 2):
      return n.SelectQueue(word);
    case Field(offsetof(VirtioPciCommonCfg, queue_size), 2):
      return n.SetQueueSize(word);
    case Field(offsetof(VirtioPciCommonCfg, queue_msix_vector), 2):
      return interrupts_->SetQueueVector(n.queue_select(), word);
    case Field(offsetof(VirtioPciCommonCfg, queue_enable), 2):
      // 4.1.4.3.2: drivers do not write 0.
      if (word == 1) EnableQueue();
      return;
    default:
      return;  // read-only, or not one field
  }
}

bool Registers::WriteQueueAddress(uint64_t offset, size_t size, uint64_t value) {
  for (const AddressField& field : kAddressFields) {
    const uint64_t into = offset - field.offset;  // wraps to something large if before
    if (into == 0 && size == 8) {
      negotiation_->SetQueueAddress(field.area, value, ~uint64_t{0});
      return true;
    }
    if ((into == 0 || into == 4) && size == 4) {
      const uint64_t shift = 8 * into;
      negotiation_->SetQueueAddress(field.area, value << shift, uint64_t{0xffffffff} << shift);
      return true;
    }
  }
  return false;
}

void Registers::WriteStatus(uint8_t value) {
  if (value == 0) doorbells_->DisableAll();
  negotiation_->WriteStatus(value);
  if (value == 0) interrupts_->ResetDevice();
}

void Registers::EnableQueue() {
  negotiation_->EnableQueue();
  if (negotiation_->QueueEnabled()) doorbells_->Enable(negotiation_->queue_select());
}

}  // namespace skiff::virtio
