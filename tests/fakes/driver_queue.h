#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <span>
#include <vector>

#include "devices/virtio/queue.h"
#include "tests/fakes/guest_ram.h"

namespace skiff::fakes {

struct DriverBuffer {
  GuestAddr address;
  uint32_t length;
  bool writable;
};

struct UsedElement {
  uint16_t head;
  uint32_t length;
};

// The driver's half of a split virtqueue, well-behaved (Add, TakeUsed, NeedsKick) and otherwise
// (SetDescriptor, Offer, SetAvailableIndex). Used by one thread.
class DriverQueue {
 public:
  DriverQueue(GuestRam& ram, uint16_t size, uint64_t features);

  const virtio::QueueLayout& layout() const { return layout_; }
  uint16_t free_descriptors() const { return static_cast<uint16_t>(free_.size()); }

  // Makes a chain of these buffers available and returns its head.
  uint16_t Add(std::span<const DriverBuffer> buffers);
  uint16_t Add(std::initializer_list<DriverBuffer> buffers) {
    return Add(std::span(buffers.begin(), buffers.size()));
  }
  // The same through one indirect descriptor.
  uint16_t AddIndirect(std::span<const DriverBuffer> buffers);

  // Whether the device wants to hear about what was added since the last call.
  bool NeedsKick();

  // What the device is done with; its descriptors are free again.
  std::optional<UsedElement> TakeUsed();
  // Asks for an interrupt for the next answer. False if one is there already: take it first.
  bool ArmInterrupt();
  void RefuseInterrupts();

  // For malformed chains.
  void SetDescriptor(uint16_t index, const virtio::VirtqDesc& descriptor);
  void Offer(uint16_t head);  // into the ring, with the index
  uint16_t available_index() const { return available_; }
  void SetAvailableIndex(uint16_t index);
  uint16_t used_index() const;
  uint16_t used_flags() const;
  GuestAddr DescriptorAddress(uint16_t index) const;

 private:
  uint16_t TakeDescriptor();

  GuestRam& ram_;
  const bool event_index_;
  virtio::QueueLayout layout_;
  std::vector<uint16_t> free_;
  std::vector<std::vector<uint16_t>> chains_;  // by head: the descriptors to give back
  uint16_t available_ = 0;
  uint16_t kicked_ = 0;  // available_ when NeedsKick() was last asked
  uint16_t seen_used_ = 0;
};

}  // namespace skiff::fakes
