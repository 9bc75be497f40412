#pragma once

#include <cstdint>
#include <span>

#include "devices/virtio/negotiation.h"
#include "tests/fakes/driver_queue.h"

namespace skiff::fakes {

// A driver's initialization sequence, VIRTIO 1.2, 3.1.1 "Driver Requirements: Device
// Initialization", cut where tests want to look in between.

inline uint64_t OfferedFeatures(virtio::Negotiation& negotiation) {
  negotiation.SelectDeviceFeatures(0);
  const uint64_t low = negotiation.DeviceFeatures();
  negotiation.SelectDeviceFeatures(1);
  return low | uint64_t{negotiation.DeviceFeatures()} << 32;
}

inline void AcceptFeatures(virtio::Negotiation& negotiation, uint64_t features) {
  for (uint32_t word = 0; word < 2; ++word) {
    negotiation.SelectDriverFeatures(word);
    negotiation.AcceptFeatures(static_cast<uint32_t>(features >> (32 * word)));
  }
}

inline void AddStatus(virtio::Negotiation& negotiation, uint8_t bits) {
  negotiation.WriteStatus(static_cast<uint8_t>(negotiation.status() | bits));
}

// Resets the device and goes as far as FEATURES_OK; false if the device refuses.
inline bool Negotiate(virtio::Negotiation& negotiation, uint64_t features) {
  negotiation.WriteStatus(0);
  AddStatus(negotiation, virtio::kStatusAcknowledge);
  AddStatus(negotiation, virtio::kStatusDriver);
  AcceptFeatures(negotiation, features);
  AddStatus(negotiation, virtio::kStatusFeaturesOk);
  return (negotiation.status() & virtio::kStatusFeaturesOk) != 0;
}

inline void SetUpQueue(virtio::Negotiation& negotiation, uint16_t index,
                       const virtio::QueueLayout& layout) {
  constexpr uint64_t kLow = UINT32_MAX;
  const auto set = [&](virtio::QueueArea area, GuestAddr address) {
    negotiation.SetQueueAddress(area, address.value(), kLow);
    negotiation.SetQueueAddress(area, address.value(), ~kLow);
  };
  negotiation.SelectQueue(index);
  negotiation.SetQueueSize(layout.size);
  set(virtio::QueueArea::kDescriptor, layout.descriptor_area);
  set(virtio::QueueArea::kDriver, layout.driver_area);
  set(virtio::QueueArea::kDevice, layout.device_area);
  negotiation.EnableQueue();
}

// The whole sequence with one queue. False if the features are refused.
inline bool StartDevice(virtio::Negotiation& negotiation, uint64_t features,
                        const DriverQueue& queue) {
  if (!Negotiate(negotiation, features)) return false;
  SetUpQueue(negotiation, 0, queue.layout());
  AddStatus(negotiation, virtio::kStatusDriverOk);
  return true;
}

}  // namespace skiff::fakes
