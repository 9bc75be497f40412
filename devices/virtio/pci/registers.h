#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>

#include "base/guest_memory.h"
#include "devices/bus.h"
#include "devices/doorbell.h"
#include "devices/irq.h"
#include "devices/virtio/negotiation.h"
#include "devices/virtio/pci/doorbells.h"
#include "devices/virtio/pci/pci_interrupts.h"

namespace skiff::virtio {

// What a virtio device over PCI needs of the machine. All outlive it.
struct PciHost {
  const GuestMemory& memory;
  MsiController& msi;
  DoorbellBinder& doorbells;
};

// Where the structures are in the BAR. All registers share one page, because the first access to
// each page costs the guest a page fault of the nested tables; MSI-X has its own (PCI 3.0, 6.8.2).
struct BarLayout {
  static constexpr uint32_t kCommon = 0x000;
  static constexpr uint32_t kIsr = 0x040;
  static constexpr uint32_t kIsrBytes = 1;
  static constexpr uint32_t kDeviceConfig = 0x100;
  static constexpr uint32_t kDeviceConfigBytes = 0x700;
  static constexpr uint32_t kNotify = 0x800;
  static constexpr uint32_t kMsix = 0x1000;
  static constexpr uint32_t kBytes = 0x2000;
};

// The BAR of a virtio-pci function: a virtio device behind the register map of VIRTIO 1.2, 4.1.4.
// Drivers access each field by its own width (4.1.3.1), 64-bit ones also by halves; writes of other
// widths are dropped, reads of any width see the fields' bytes.
//
// Thread-safe.
class Registers final : public BusDevice {
 public:
  // kUnsupported if the device has more queues than MSI-X vectors fit.
  static Result<std::shared_ptr<Registers>> Make(std::unique_ptr<Device> device,
                                                 const PciHost& host, IrqLine& intx);
  ~Registers() override;  // stops the device

  std::string_view name() const override;
  void Read(uint64_t offset, std::span<std::byte> data) override;
  void Write(uint64_t offset, std::span<const std::byte> data) override;

  DeviceType device_type() const { return device_->type(); }
  uint16_t queue_count() const { return negotiation_->queue_count(); }
  PciInterrupts& interrupts() { return *interrupts_; }

  // The guest moved the BAR; nullopt: out of its reach.
  void BarMapped(std::optional<GuestAddr> at);

  // All of it, the MSI-X table included, as after power-on.
  void Reset();

 private:
  Registers(std::unique_ptr<Device> device, std::unique_ptr<PciInterrupts> interrupts,
            std::unique_ptr<Negotiation> negotiation, std::unique_ptr<Doorbells> doorbells);

  VirtioPciCommonCfg CommonCfg() const;
  void WriteCommon(uint64_t offset, std::span<const std::byte> data);
  // False if the access is none to a queue address or one of its halves.
  bool WriteQueueAddress(uint64_t offset, size_t size, uint64_t value);
  void WriteStatus(uint8_t value);
  void EnableQueue();
  void WriteDeviceConfig(uint64_t offset, std::span<const std::byte> data);

  // Destroyed from below: doorbells, then negotiation (stops the device), then the rest.
  const std::unique_ptr<Device> device_;
  const std::unique_ptr<PciInterrupts> interrupts_;
  const std::unique_ptr<Negotiation> negotiation_;
  const std::unique_ptr<Doorbells> doorbells_;
};

}  // namespace skiff::virtio
