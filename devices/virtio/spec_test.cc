#define VIRTIO_RING_NO_LEGACY  // its inline functions are C only

#include "devices/virtio/spec.h"

#include <gtest/gtest.h>
#include <linux/virtio_config.h>
#include <linux/virtio_ids.h>
#include <linux/virtio_ring.h>

#include <cstddef>

namespace skiff::virtio {
namespace {

TEST(Spec, EqualsLinux) {
  EXPECT_EQ(static_cast<int>(DeviceType::kNetwork), VIRTIO_ID_NET);
  EXPECT_EQ(static_cast<int>(DeviceType::kBlock), VIRTIO_ID_BLOCK);
  EXPECT_EQ(static_cast<int>(DeviceType::kConsole), VIRTIO_ID_CONSOLE);
  EXPECT_EQ(static_cast<int>(DeviceType::kEntropy), VIRTIO_ID_RNG);

  EXPECT_EQ(kStatusAcknowledge, VIRTIO_CONFIG_S_ACKNOWLEDGE);
  EXPECT_EQ(kStatusDriver, VIRTIO_CONFIG_S_DRIVER);
  EXPECT_EQ(kStatusDriverOk, VIRTIO_CONFIG_S_DRIVER_OK);
  EXPECT_EQ(kStatusFeaturesOk, VIRTIO_CONFIG_S_FEATURES_OK);
  EXPECT_EQ(kStatusDeviceNeedsReset, VIRTIO_CONFIG_S_NEEDS_RESET);
  EXPECT_EQ(kStatusFailed, VIRTIO_CONFIG_S_FAILED);

  EXPECT_EQ(kFeatureRingIndirectDesc, FeatureBit(VIRTIO_RING_F_INDIRECT_DESC));
  EXPECT_EQ(kFeatureRingEventIdx, FeatureBit(VIRTIO_RING_F_EVENT_IDX));
  EXPECT_EQ(kFeatureVersion1, FeatureBit(VIRTIO_F_VERSION_1));
  EXPECT_EQ(kFeatureRingPacked, FeatureBit(VIRTIO_F_RING_PACKED));

  EXPECT_EQ(kDescNext, VRING_DESC_F_NEXT);
  EXPECT_EQ(kDescWrite, VRING_DESC_F_WRITE);
  EXPECT_EQ(kDescIndirect, VRING_DESC_F_INDIRECT);
  EXPECT_EQ(kAvailNoInterrupt, VRING_AVAIL_F_NO_INTERRUPT);
  EXPECT_EQ(kUsedNoNotify, VRING_USED_F_NO_NOTIFY);
  EXPECT_EQ(kDescriptorAreaAlignment, unsigned{VRING_DESC_ALIGN_SIZE});
  EXPECT_EQ(kDriverAreaAlignment, unsigned{VRING_AVAIL_ALIGN_SIZE});
  EXPECT_EQ(kDeviceAreaAlignment, unsigned{VRING_USED_ALIGN_SIZE});
}

TEST(Spec, StructuresEqualLinux) {
  EXPECT_EQ(sizeof(VirtqDesc), sizeof(vring_desc));
  EXPECT_EQ(offsetof(VirtqDesc, len), offsetof(vring_desc, len));
  EXPECT_EQ(offsetof(VirtqDesc, flags), offsetof(vring_desc, flags));
  EXPECT_EQ(offsetof(VirtqDesc, next), offsetof(vring_desc, next));
  EXPECT_EQ(sizeof(VirtqAvailHeader), offsetof(vring_avail, ring));
  EXPECT_EQ(offsetof(VirtqAvailHeader, idx), offsetof(vring_avail, idx));
  EXPECT_EQ(sizeof(VirtqUsedHeader), offsetof(vring_used, ring));
  EXPECT_EQ(sizeof(VirtqUsedElem), sizeof(vring_used_elem));
  EXPECT_EQ(offsetof(VirtqUsedElem, len), offsetof(vring_used_elem, len));
  // The figures of VIRTIO 1.2, 2.7 "Split Virtqueues": 16n, 6 + 2n, 6 + 8n.
  EXPECT_EQ(DescriptorAreaBytes(256), 16U * 256);
  EXPECT_EQ(DriverAreaBytes(256), 6U + 2 * 256);
  EXPECT_EQ(DeviceAreaBytes(256), 6U + 8 * 256);
}

}  // namespace
}  // namespace skiff::virtio
