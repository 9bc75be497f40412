#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "base/endian.h"

// VIRTIO 1.2, 4.1 "Virtio Over PCI Bus". Names and values are the specification's.
namespace skiff::virtio {

// 4.1.2 "PCI Device Discovery".
inline constexpr uint16_t kVirtioPciVendorId = 0x1af4;
inline constexpr uint16_t kVirtioPciFirstDeviceId = 0x1040;  // plus the device type
inline constexpr uint16_t kVirtioPciFirstSubsystemId = 0x40;
inline constexpr uint8_t kVirtioPciRevision = 1;

// 4.1.4 "Virtio Structure PCI Capabilities": cfg_type.
enum class VirtioPciCapType : uint8_t {
  kCommonCfg = 1,
  kNotifyCfg = 2,
  kIsrCfg = 3,
  kDeviceCfg = 4,
  kPciCfg = 5,
};

struct VirtioPciCap {
  uint8_t cap_vndr;
  uint8_t cap_next;
  uint8_t cap_len;
  uint8_t cfg_type;
  uint8_t bar;
  uint8_t id;
  uint8_t padding[2];
  Le32 offset;
  Le32 length;
};
static_assert(sizeof(VirtioPciCap) == 16);

// 4.1.4.4 "Notification structure layout".
struct VirtioPciNotifyCap {
  VirtioPciCap cap;
  Le32 notify_off_multiplier;
};
static_assert(sizeof(VirtioPciNotifyCap) == 20);

// 4.1.4.9 "PCI configuration access capability".
struct VirtioPciCfgCap {
  VirtioPciCap cap;
  std::array<std::byte, 4> pci_cfg_data;
};
static_assert(sizeof(VirtioPciCfgCap) == 20);

// 4.1.4.3 "Common configuration structure layout", up to the fields of features that we do not
// offer.
struct VirtioPciCommonCfg {
  Le32 device_feature_select;
  Le32 device_feature;
  Le32 driver_feature_select;
  Le32 driver_feature;
  Le16 config_msix_vector;
  Le16 num_queues;
  uint8_t device_status;
  uint8_t config_generation;
  Le16 queue_select;
  Le16 queue_size;
  Le16 queue_msix_vector;
  Le16 queue_enable;
  Le16 queue_notify_off;
  Le64 queue_desc;
  Le64 queue_driver;
  Le64 queue_device;
};
static_assert(sizeof(VirtioPciCommonCfg) == 56);

// 4.1.5.1.2 "MSI-X Vector Configuration".
inline constexpr uint16_t kMsiNoVector = 0xffff;

// 4.1.4.5 "ISR status capability".
inline constexpr uint8_t kIsrQueueInterrupt = 1 << 0;
inline constexpr uint8_t kIsrDeviceConfigurationInterrupt = 1 << 1;

}  // namespace skiff::virtio
