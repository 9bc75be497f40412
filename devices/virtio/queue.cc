#include "devices/virtio/queue.h"

#include <array>
#include <bit>
#include <string>
#include <utility>

#include "base/arith.h"

namespace skiff::virtio {
namespace {

// The 16 bytes at `index` of a table, in two loads, each done once: the driver may be rewriting
// them, so only this copy is looked at. 8-byte loads are atomic on an aligned table.
Result<VirtqDesc> LoadDescriptor(const GuestSpan& table, size_t index) {
  constexpr size_t kHalf = sizeof(uint64_t);
  std::array<uint64_t, 2> words{};
  for (size_t i = 0; i < words.size(); ++i) {
    const GuestSpan half = TRY(table.Subspan(index * sizeof(VirtqDesc) + i * kHalf, kHalf));
    half.CopyTo(std::as_writable_bytes(std::span(&words[i], 1)));
  }
  return std::bit_cast<VirtqDesc>(words);
}

Result<GuestSpan> CheckedArea(const GuestMemory& memory, GuestAddr start, uint64_t length,
                              uint64_t alignment) {
  if (!IsAligned(start.value(), alignment)) return Invalid("queue area is not aligned");
  const GuestRange range = TRY(GuestRange::Make(start, length));
  return memory.At(range);
}

}  // namespace

OwedAnswer::OwedAnswer(OwedAnswer&& other) noexcept
    : queue_(std::exchange(other.queue_, nullptr)), head_(other.head_) {}

OwedAnswer::~OwedAnswer() {
  if (queue_ != nullptr) queue_->Pay(head_, 0);
}

void OwedAnswer::Complete(uint32_t bytes_written) && {
  if (queue_ != nullptr) std::exchange(queue_, nullptr)->Pay(head_, bytes_written);
}

struct SplitQueue::Areas {
  GuestSpan descriptors;
  GuestSpan available_ring;
  GuestSpan used_ring;
  GuestIndex available_flags;
  GuestIndex available_index;
  GuestIndex used_event;
  GuestIndex used_flags;
  GuestIndex used_index;
  GuestIndex available_event;

  static Result<Areas> Find(const GuestMemory& memory, const QueueLayout& layout);
};

Result<SplitQueue::Areas> SplitQueue::Areas::Find(const GuestMemory& memory,
                                                  const QueueLayout& layout) {
  const uint16_t size = layout.size;
  const GuestSpan descriptors = TRY(CheckedArea(
      memory, layout.descriptor_area, DescriptorAreaBytes(size), kDescriptorAreaAlignment));
  const GuestSpan driver =
      TRY(CheckedArea(memory, layout.driver_area, DriverAreaBytes(size), kDriverAreaAlignment));
  const GuestSpan device =
      TRY(CheckedArea(memory, layout.device_area, DeviceAreaBytes(size), kDeviceAreaAlignment));
  const size_t available_bytes = sizeof(Le16) * size;
  const size_t used_bytes = sizeof(VirtqUsedElem) * size;
  return Areas{
      .descriptors = descriptors,
      .available_ring = TRY(driver.Subspan(sizeof(VirtqAvailHeader), available_bytes)),
      .used_ring = TRY(device.Subspan(sizeof(VirtqUsedHeader), used_bytes)),
      .available_flags = TRY(memory.IndexAt(layout.driver_area)),
      .available_index = TRY(memory.IndexAt(layout.driver_area + 2)),
      .used_event =
          TRY(memory.IndexAt(layout.driver_area + (sizeof(VirtqAvailHeader) + available_bytes))),
      .used_flags = TRY(memory.IndexAt(layout.device_area)),
      .used_index = TRY(memory.IndexAt(layout.device_area + 2)),
      .available_event =
          TRY(memory.IndexAt(layout.device_area + (sizeof(VirtqUsedHeader) + used_bytes))),
  };
}

Result<std::unique_ptr<SplitQueue>> SplitQueue::Open(const GuestMemory& memory,
                                                     const QueueLayout& layout, uint16_t max_size,
                                                     uint64_t features) {
  // VIRTIO 1.2, 2.7 "Split Virtqueues": the queue size is a power of two.
  if (!IsPowerOfTwo(layout.size) || layout.size > max_size)
    return Invalid("queue size " + std::to_string(layout.size));
  const Areas areas = TRY(Areas::Find(memory, layout));
  return std::unique_ptr<SplitQueue>(
      new SplitQueue(memory, areas, layout.size, max_size, features));
}

SplitQueue::SplitQueue(const GuestMemory& memory, const Areas& areas, uint16_t size,
                       uint16_t max_size, uint64_t features)
    : memory_(memory),
      size_(size),
      max_chain_(max_size),
      event_index_((features & kFeatureRingEventIdx) != 0),
      indirect_((features & kFeatureRingIndirectDesc) != 0),
      descriptors_(areas.descriptors),
      available_ring_(areas.available_ring),
      used_ring_(areas.used_ring),
      available_flags_(areas.available_flags),
      available_index_(areas.available_index),
      used_event_(areas.used_event),
      used_flags_(areas.used_flags),
      used_index_(areas.used_index),
      available_event_(areas.available_event),
      owed_(size),
      segments_(max_size) {}

// What is known of a chain while its descriptors are read.
struct SplitQueue::Walk {
  size_t descriptors = 0;  // empty ones included
  size_t readable = 0;
  size_t writable = 0;
  uint64_t bytes = 0;
  GuestSpan last_writable;  // empty if it lies outside memory
  bool faulty = false;
};

Result<std::optional<DescriptorChain>> SplitQueue::Pop() {
  if (broken_) return Invalid("the queue is broken");
  auto next = TakeNext();
  broken_ = !next.ok();
  return next;
}

Result<std::optional<DescriptorChain>> SplitQueue::TakeNext() {
  const bool has_next = TRY(HasNext());
  if (!has_next) return std::optional<DescriptorChain>();
  DeclineNotification();
  const uint16_t head = TRY(TakeHead());
  Walk walk;
  TRY(WalkChain(head, walk));
  owed_[head] = true;
  return std::optional<DescriptorChain>(Describe(head, walk));
}

Result<bool> SplitQueue::HasNext() {
  if (next_available_ != known_available_) return true;
  const bool more = TRY(SeeAvailable(available_index_.LoadAcquire()));
  if (more) return true;
  // VIRTIO 1.2, 2.7.10 "Available Buffer Notification Suppression": the driver may have added a
  // buffer just before it could see that we want to be told, so look again afterwards.
  AskForNotification();
  return SeeAvailable(available_index_.LoadAfterFence());
}

Result<bool> SplitQueue::SeeAvailable(uint16_t index) {
  const uint16_t waiting = static_cast<uint16_t>(index - next_available_);
  if (waiting > size_) return Invalid("more buffers available than the queue has entries");
  known_available_ = index;
  return waiting != 0;
}

void SplitQueue::AskForNotification() {
  if (event_index_)
    available_event_.StoreRelease(next_available_);
  else
    used_flags_.StoreRelease(0);
  notify_asked_ = true;
}

// With the event index the driver is past the event by now and will not notify again.
void SplitQueue::DeclineNotification() {
  if (!notify_asked_) return;
  if (!event_index_) used_flags_.StoreRelease(kUsedNoNotify);
  notify_asked_ = false;
}

Result<uint16_t> SplitQueue::TakeHead() {
  const size_t entry = next_available_ % size_;
  const GuestSpan place = TRY(available_ring_.Subspan(entry * sizeof(Le16), sizeof(Le16)));
  uint16_t copy = 0;
  place.CopyTo(std::as_writable_bytes(std::span(&copy, 1)));
  const uint16_t head = std::bit_cast<Le16>(copy);
  if (head >= size_) return Invalid("head of a descriptor chain outside the table");
  if (owed_[head]) return Invalid("descriptor chain made available again while in use");
  ++next_available_;
  return head;
}

Result<void> SplitQueue::WalkChain(uint16_t head, Walk& walk) {
  uint16_t index = head;
  for (;;) {
    if (index >= size_) return Invalid("next descriptor outside the table");
    // Only a loop is longer than the table.
    if (++walk.descriptors > size_) return Invalid("descriptor chain without an end");
    const VirtqDesc descriptor = TRY(LoadDescriptor(descriptors_, index));
    if ((descriptor.flags & kDescIndirect) != 0) return WalkIndirect(descriptor, walk);
    AddBuffer(descriptor, walk);
    if ((descriptor.flags & kDescNext) == 0) return {};
    index = descriptor.next;
  }
}

// VIRTIO 1.2, 2.7.5.3 "Indirect Descriptors": the table ends the chain and holds no further one;
// the flag "write" of its pointer means nothing.
Result<void> SplitQueue::WalkIndirect(const VirtqDesc& pointer, Walk& walk) {
  if (!indirect_) return Invalid("indirect descriptor, which was not negotiated");
  if ((pointer.flags & kDescNext) != 0) return Invalid("indirect descriptor with a successor");
  const uint32_t bytes = pointer.len;
  const size_t count = bytes / sizeof(VirtqDesc);
  if (count == 0 || bytes % sizeof(VirtqDesc) != 0) return Invalid("indirect table of odd length");
  // The pointer itself was counted, and holds no buffer.
  const size_t most = max_chain_ - (walk.descriptors - 1);
  if (count > most) return Invalid("descriptor chain longer than the device's queue");
  const GuestRange range = TRY(GuestRange::Make(GuestAddr(pointer.addr), bytes));
  const GuestSpan table = TRY(memory_.At(range));

  size_t index = 0;
  for (size_t seen = 0;;) {
    if (index >= count) return Invalid("next descriptor outside the indirect table");
    if (++seen > count) return Invalid("indirect descriptor chain without an end");
    const VirtqDesc descriptor = TRY(LoadDescriptor(table, index));
    if ((descriptor.flags & kDescIndirect) != 0) return Invalid("indirect table inside another");
    AddBuffer(descriptor, walk);
    if ((descriptor.flags & kDescNext) == 0) return {};
    index = descriptor.next;
  }
}

void SplitQueue::AddBuffer(const VirtqDesc& descriptor, Walk& walk) {
  const uint32_t length = descriptor.len;
  if (length == 0) return;
  const bool writable = (descriptor.flags & kDescWrite) != 0;
  const auto range = GuestRange::Make(GuestAddr(descriptor.addr), length);
  const auto span = range.ok() ? memory_.At(range.value()) : Result<GuestSpan>(range.error());
  walk.bytes += length;
  if (writable) walk.last_writable = span.ok() ? span.value() : GuestSpan();
  // VIRTIO 1.2, 2.7.4.2 "Message Framing": what the device writes comes last.
  const bool misplaced = !writable && walk.writable != 0;
  if (!span.ok() || misplaced) {
    walk.faulty = true;
    return;
  }
  segments_[walk.readable + walk.writable] = span.value();
  ++(writable ? walk.writable : walk.readable);
}

DescriptorChain SplitQueue::Describe(uint16_t head, const Walk& walk) {
  // VIRTIO 1.2, 2.7.5 "The Virtqueue Descriptor Table" bounds a chain to what `len` can count.
  const bool faulty = walk.faulty || walk.bytes > UINT32_MAX;
  if (!faulty) {
    const std::span<const GuestSpan> all(segments_);
    return {OwedAnswer(*this, head), all.first(walk.readable),
            all.subspan(walk.readable, walk.writable), false};
  }
  segments_[0] = walk.last_writable;
  const size_t writable = walk.last_writable.size() == 0 ? 0 : 1;
  return {OwedAnswer(*this, head), {}, std::span(segments_).first(writable), true};
}

void SplitQueue::Pay(uint16_t head, uint32_t bytes_written) {
  owed_[head] = false;
  if (closed_) return;
  const VirtqUsedElem element{.id = head, .len = bytes_written};
  const auto place = used_ring_.Subspan((next_used_ % size_) * sizeof element, sizeof element);
  if (place.ok()) place->CopyFrom(std::as_bytes(std::span(&element, 1)));
  ++next_used_;
}

bool SplitQueue::Publish() {
  if (closed_ || next_used_ == published_used_) return false;
  const uint16_t before = std::exchange(published_used_, next_used_);
  used_index_.StoreRelease(next_used_);
  // VIRTIO 1.2, 2.7.7 "Used Buffer Notification Suppression": the index must be out before we look
  // whether the driver waits for it.
  if (!event_index_) return (available_flags_.LoadAfterFence() & kAvailNoInterrupt) == 0;
  const uint16_t event = used_event_.LoadAfterFence();
  // Whether the index has just moved past the event, modulo 2^16.
  return static_cast<uint16_t>(next_used_ - event - 1) < static_cast<uint16_t>(next_used_ - before);
}

}  // namespace skiff::virtio
