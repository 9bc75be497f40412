#include "tests/fakes/driver_queue.h"

#include <cstdlib>

namespace skiff::fakes {

using virtio::VirtqDesc;
using virtio::VirtqUsedElem;

namespace {

constexpr uint64_t kIndexOffset = 2;
constexpr uint64_t kRingOffset = 4;

VirtqDesc Describe(const DriverBuffer& buffer, bool last, uint16_t next) {
  const unsigned flags =
      (buffer.writable ? virtio::kDescWrite : 0U) | (last ? 0U : unsigned{virtio::kDescNext});
  return {.addr = buffer.address.value(),
          .len = buffer.length,
          .flags = static_cast<uint16_t>(flags),
          .next = next};
}

}  // namespace

DriverQueue::DriverQueue(GuestRam& ram, uint16_t size, uint64_t features)
    : ram_(ram),
      event_index_((features & virtio::kFeatureRingEventIdx) != 0),
      layout_{.size = size,
              .descriptor_area = ram.Allocate(virtio::DescriptorAreaBytes(size), 16),
              .driver_area = ram.Allocate(virtio::DriverAreaBytes(size), 2),
              .device_area = ram.Allocate(virtio::DeviceAreaBytes(size), 4)},
      chains_(size) {
  for (uint16_t i = size; i-- > 0;) free_.push_back(i);
}

uint16_t DriverQueue::TakeDescriptor() {
  if (free_.empty()) std::abort();
  const uint16_t index = free_.back();
  free_.pop_back();
  return index;
}

uint16_t DriverQueue::Add(std::span<const DriverBuffer> buffers) {
  std::vector<uint16_t> taken;
  for (size_t i = 0; i < buffers.size(); ++i) taken.push_back(TakeDescriptor());
  for (size_t i = 0; i < buffers.size(); ++i) {
    const bool last = i + 1 == buffers.size();
    SetDescriptor(taken[i], Describe(buffers[i], last, last ? uint16_t{0} : taken[i + 1]));
  }
  const uint16_t head = taken.front();
  chains_[head] = std::move(taken);
  Offer(head);
  return head;
}

uint16_t DriverQueue::AddIndirect(std::span<const DriverBuffer> buffers) {
  const GuestAddr table = ram_.Allocate(buffers.size() * sizeof(VirtqDesc));
  for (size_t i = 0; i < buffers.size(); ++i) {
    const auto next = static_cast<uint16_t>(i + 1);
    ram_.Store(table + i * sizeof(VirtqDesc), Describe(buffers[i], i + 1 == buffers.size(), next));
  }
  const uint16_t head = TakeDescriptor();
  SetDescriptor(head, {.addr = table.value(),
                       .len = static_cast<uint32_t>(buffers.size() * sizeof(VirtqDesc)),
                       .flags = virtio::kDescIndirect,
                       .next = uint16_t{0}});
  chains_[head] = {head};
  Offer(head);
  return head;
}

void DriverQueue::Offer(uint16_t head) {
  const uint64_t slot = available_ % layout_.size;
  ram_.Store(layout_.driver_area + (kRingOffset + slot * sizeof(head)), head);
  SetAvailableIndex(static_cast<uint16_t>(available_ + 1));
}

void DriverQueue::SetAvailableIndex(uint16_t index) {
  available_ = index;
  ram_.Index(layout_.driver_area + kIndexOffset).StoreRelease(index);
}

bool DriverQueue::NeedsKick() {
  const uint16_t before = std::exchange(kicked_, available_);
  if (!event_index_)
    return (ram_.Index(layout_.device_area).LoadAfterFence() & virtio::kUsedNoNotify) == 0;
  const uint64_t ring_bytes = layout_.size * sizeof(VirtqUsedElem);
  const uint16_t event =
      ram_.Index(layout_.device_area + (kRingOffset + ring_bytes)).LoadAfterFence();
  return static_cast<uint16_t>(available_ - event - 1) < static_cast<uint16_t>(available_ - before);
}

std::optional<UsedElement> DriverQueue::TakeUsed() {
  if (used_index() == seen_used_) return std::nullopt;
  const uint64_t slot = seen_used_++ % layout_.size;
  const auto element =
      ram_.Load<VirtqUsedElem>(layout_.device_area + (kRingOffset + slot * sizeof(VirtqUsedElem)));
  const auto head = static_cast<uint16_t>(uint32_t{element.id});
  for (const uint16_t index : std::exchange(chains_[head], {})) free_.push_back(index);
  return UsedElement{.head = head, .length = element.len};
}

bool DriverQueue::ArmInterrupt() {
  if (event_index_) {
    const uint64_t ring_bytes = layout_.size * sizeof(uint16_t);
    ram_.Index(layout_.driver_area + (kRingOffset + ring_bytes)).StoreRelease(seen_used_);
  } else {
    ram_.Index(layout_.driver_area).StoreRelease(0);
  }
  return ram_.Index(layout_.device_area + kIndexOffset).LoadAfterFence() == seen_used_;
}

void DriverQueue::RefuseInterrupts() {
  if (!event_index_) ram_.Index(layout_.driver_area).StoreRelease(virtio::kAvailNoInterrupt);
  // With the event index, an event that lies behind is never reached again.
}

void DriverQueue::SetDescriptor(uint16_t index, const VirtqDesc& descriptor) {
  ram_.Store(DescriptorAddress(index), descriptor);
}

uint16_t DriverQueue::used_index() const {
  return ram_.Index(layout_.device_area + kIndexOffset).LoadAcquire();
}

uint16_t DriverQueue::used_flags() const { return ram_.Index(layout_.device_area).LoadAcquire(); }

GuestAddr DriverQueue::DescriptorAddress(uint16_t index) const {
  return layout_.descriptor_area + index * sizeof(VirtqDesc);
}

}  // namespace skiff::fakes
