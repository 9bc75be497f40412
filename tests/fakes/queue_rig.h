#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <cstdlib>
#include <memory>
#include <utility>

#include "devices/virtio/queue.h"
#include "tests/fakes/driver_queue.h"

namespace skiff::fakes {

constexpr uint16_t kRigQueueSize = 16;
constexpr uint64_t kRigFeatures = virtio::kFeatureVersion1 | virtio::kFeatureRingIndirectDesc;

// A queue from both ends. Used by one thread.
struct QueueRig {
  explicit QueueRig(uint64_t features = kRigFeatures, uint16_t max_size = kRigQueueSize,
                    uint64_t bytes = 4 * 1024 * 1024)
      : ram(bytes),
        driver(ram, kRigQueueSize, features),
        device(
            std::move(virtio::SplitQueue::Open(ram.memory(), driver.layout(), max_size, features))
                .value()) {}

  // The next chain, which must be there.
  virtio::DescriptorChain Take() {
    auto popped = device->Pop();
    if (!popped.ok() || !popped->has_value()) {
      ADD_FAILURE() << (popped.ok() ? "nothing available" : popped.error().message());
      std::abort();
    }
    return std::move(**popped);
  }
  bool Empty() {
    auto popped = device->Pop();
    return popped.ok() && !popped->has_value();
  }

  DriverBuffer Readable(uint32_t length) { return {ram.Allocate(length), length, false}; }
  DriverBuffer Writable(uint32_t length) { return {ram.Allocate(length), length, true}; }

  GuestRam ram;
  DriverQueue driver;
  std::unique_ptr<virtio::SplitQueue> device;
};

}  // namespace skiff::fakes
