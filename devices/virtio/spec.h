#pragma once

#include <cstdint>

#include "base/endian.h"

// Constants and structures that all virtio devices share, under the names of VIRTIO 1.2.
namespace skiff::virtio {

// VIRTIO 1.2, 5 "Device Types".
enum class DeviceType : uint16_t {
  kNetwork = 1,
  kBlock = 2,
  kConsole = 3,
  kEntropy = 4,
};

// VIRTIO 1.2, 2.1 "Device Status Field".
inline constexpr uint8_t kStatusAcknowledge = 1;
inline constexpr uint8_t kStatusDriver = 2;
inline constexpr uint8_t kStatusDriverOk = 4;
inline constexpr uint8_t kStatusFeaturesOk = 8;
inline constexpr uint8_t kStatusDeviceNeedsReset = 64;
inline constexpr uint8_t kStatusFailed = 128;

constexpr uint64_t FeatureBit(unsigned bit) { return uint64_t{1} << bit; }

// VIRTIO 1.2, 6 "Reserved Feature Bits".
inline constexpr uint64_t kFeatureRingIndirectDesc = FeatureBit(28);
inline constexpr uint64_t kFeatureRingEventIdx = FeatureBit(29);
inline constexpr uint64_t kFeatureVersion1 = FeatureBit(32);
inline constexpr uint64_t kFeatureRingPacked = FeatureBit(34);
inline constexpr uint64_t kFeatureRingReset = FeatureBit(40);

// VIRTIO 1.2, 2.7.5 "The Virtqueue Descriptor Table".
struct VirtqDesc {
  Le64 addr;
  Le32 len;
  Le16 flags;
  Le16 next;
};
static_assert(sizeof(VirtqDesc) == 16);

inline constexpr uint16_t kDescNext = 1;
inline constexpr uint16_t kDescWrite = 2;
inline constexpr uint16_t kDescIndirect = 4;

// VIRTIO 1.2, 2.7.6 "The Virtqueue Available Ring". Behind these follow `ring`, one Le16 for each
// element, and `used_event`.
struct VirtqAvailHeader {
  Le16 flags;
  Le16 idx;
};
static_assert(sizeof(VirtqAvailHeader) == 4);

inline constexpr uint16_t kAvailNoInterrupt = 1;

// VIRTIO 1.2, 2.7.8 "The Virtqueue Used Ring". Behind these follow `ring`, one VirtqUsedElem for
// each element, and `avail_event`.
struct VirtqUsedHeader {
  Le16 flags;
  Le16 idx;
};
static_assert(sizeof(VirtqUsedHeader) == 4);

inline constexpr uint16_t kUsedNoNotify = 1;

struct VirtqUsedElem {
  Le32 id;
  Le32 len;
};
static_assert(sizeof(VirtqUsedElem) == 8);

// VIRTIO 1.2, 2.7 "Split Virtqueues": alignment of the three areas.
inline constexpr uint64_t kDescriptorAreaAlignment = 16;
inline constexpr uint64_t kDriverAreaAlignment = 2;
inline constexpr uint64_t kDeviceAreaAlignment = 4;

constexpr uint64_t DescriptorAreaBytes(uint16_t size) { return sizeof(VirtqDesc) * size; }
// Both with the event index behind the ring, whether negotiated or not: drivers reserve it always.
constexpr uint64_t DriverAreaBytes(uint16_t size) {
  return sizeof(VirtqAvailHeader) + sizeof(Le16) * (uint64_t{size} + 1);
}
constexpr uint64_t DeviceAreaBytes(uint16_t size) {
  return sizeof(VirtqUsedHeader) + sizeof(VirtqUsedElem) * size + sizeof(Le16);
}

}  // namespace skiff::virtio
