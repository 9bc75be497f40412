#pragma once

#include <cstdint>
#include <map>

#include "devices/pci/config_registers.h"
#include "devices/virtio/pci/spec_pci.h"
#include "devices/virtio/queue.h"
#include "devices/virtio/spec.h"
#include "tests/fakes/guest_pci.h"

namespace skiff::fakes {

// A guest's driver of one virtio-pci function, as VIRTIO 1.2, 4.1 tells drivers to be. It finds
// everything through the capabilities. Used by one thread.
class VirtioPciDriver {
 public:
  struct Structure {
    uint8_t capability;  // offset in configuration space; 0: there is none
    uint8_t bar;
    uint32_t offset;
    uint32_t length;
  };

  VirtioPciDriver(GuestPci& guest, uint8_t device) : guest_(guest), device_(device) {
    for (uint8_t at = guest.FindCapability(device, 0x09); at != 0;) {
      const auto type = static_cast<uint8_t>(Config(at + 3u, 1));
      structures_[type] = {at, static_cast<uint8_t>(Config(at + 4u, 1)),
                           static_cast<uint32_t>(Config(at + 8u, 4)),
                           static_cast<uint32_t>(Config(at + 12u, 4))};
      const auto next = static_cast<uint8_t>(Config(at + 1u, 1));
      at = next != 0 ? guest.FindCapability(device, 0x09, next) : uint8_t{0};
    }
    const uint8_t notify = structure(virtio::VirtioPciCapType::kNotifyCfg).capability;
    notify_multiplier_ = static_cast<uint32_t>(Config(notify + 16u, 4));
    msix_ = guest.FindCapability(device, 0x11);
  }

  uint64_t Config(uint32_t offset, size_t size) { return guest_.Config(device_, offset, size); }
  void SetConfig(uint32_t offset, size_t size, uint64_t value) {
    guest_.SetConfig(device_, offset, size, value);
  }
  Structure structure(virtio::VirtioPciCapType type) {
    return structures_[static_cast<uint8_t>(type)];
  }
  uint8_t msix() const { return msix_; }  // the capability's offset

  void EnableMemory() {
    SetConfig(pci::kCommand, 2, pci::kCommandMemorySpace | pci::kCommandBusMaster);
  }
  uint64_t bar() { return Config(pci::kBar0, 4) & pci::kBarMemoryAddressMask; }
  uint64_t Address(virtio::VirtioPciCapType type) { return bar() + structure(type).offset; }

  uint64_t Common(uint32_t offset, size_t size) {
    return guest_.Load(Address(virtio::VirtioPciCapType::kCommonCfg) + offset, size);
  }
  void SetCommon(uint32_t offset, size_t size, uint64_t value) {
    guest_.Store(Address(virtio::VirtioPciCapType::kCommonCfg) + offset, size, value);
  }
  uint64_t Isr() { return guest_.Load(Address(virtio::VirtioPciCapType::kIsrCfg), 1); }

  uint64_t Status() { return Common(20, 1); }
  void SetStatus(uint64_t value) { SetCommon(20, 1, value); }
  void AddStatus(uint8_t bits) { SetStatus(Status() | bits); }

  uint64_t OfferedFeatures() {
    SetCommon(0, 4, 0);
    const uint64_t low = Common(4, 4);
    SetCommon(0, 4, 1);
    return low | Common(4, 4) << 32;
  }

  // From reset to FEATURES_OK; false if the device refuses.
  bool Negotiate(uint64_t features) {
    SetStatus(0);
    AddStatus(virtio::kStatusAcknowledge);
    AddStatus(virtio::kStatusDriver);
    for (uint32_t word = 0; word < 2; ++word) {
      SetCommon(8, 4, word);
      SetCommon(12, 4, features >> (32 * word) & 0xffffffff);
    }
    AddStatus(virtio::kStatusFeaturesOk);
    return (Status() & virtio::kStatusFeaturesOk) != 0;
  }

  // False if the device did not take the vector.
  bool SetUpQueue(uint16_t index, const virtio::QueueLayout& layout,
                  uint16_t vector = virtio::kMsiNoVector) {
    SetCommon(22, 2, index);
    SetCommon(24, 2, layout.size);
    SetCommon(26, 2, vector);
    SetAddress(32, layout.descriptor_area);
    SetAddress(40, layout.driver_area);
    SetAddress(48, layout.device_area);
    SetCommon(28, 2, 1);
    return Common(26, 2) == vector;
  }

  uint64_t Doorbell(uint16_t index) {
    SetCommon(22, 2, index);
    return Address(virtio::VirtioPciCapType::kNotifyCfg) + Common(30, 2) * notify_multiplier_;
  }
  void Kick(uint16_t index) { guest_.Store(Doorbell(index), 2, index); }

  // Vector n sends the data word `first_data` + n.
  void EnableMsix(uint16_t vectors, uint32_t first_data) {
    SetConfig(msix_ + 2u, 2, pci::kMsixControlEnable);
    const uint64_t table = bar() + (Config(msix_ + 4u, 4) & ~uint64_t{7});
    for (uint16_t i = 0; i < vectors; ++i) {
      guest_.Store(table + 16u * i, 4, 0xfee00000);
      guest_.Store(table + 16u * i + 4, 4, 0);
      guest_.Store(table + 16u * i + 8, 4, first_data + i);
      guest_.Store(table + 16u * i + 12, 4, 0);
    }
  }

 private:
  void SetAddress(uint32_t offset, GuestAddr address) {
    SetCommon(offset, 4, address.value() & 0xffffffff);
    SetCommon(offset + 4, 4, address.value() >> 32);
  }

  GuestPci& guest_;
  const uint8_t device_;
  std::map<uint8_t, Structure> structures_;
  uint32_t notify_multiplier_ = 0;
  uint8_t msix_ = 0;
};

}  // namespace skiff::fakes
