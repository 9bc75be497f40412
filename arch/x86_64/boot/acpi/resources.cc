#include "arch/x86_64/boot/acpi/resources.h"

#include <span>

#include "base/endian.h"

namespace skiff::x86_64::aml {

namespace {

template <typename Descriptor>
Resource Encode(const Descriptor& descriptor) {
  const auto bytes = std::as_bytes(std::span(&descriptor, 1));
  return {{bytes.begin(), bytes.end()}};
}

struct IoPortDescriptor {
  uint8_t tag = 0x47;
  uint8_t information = 1;  // decodes 16 address bits
  Le16 minimum;
  Le16 maximum;
  uint8_t alignment = 1;
  uint8_t length;
};
static_assert(sizeof(IoPortDescriptor) == 8);

struct IrqDescriptor {
  uint8_t tag = 0x22;  // without flags: edge, active high, exclusive
  Le16 mask;
};
static_assert(sizeof(IrqDescriptor) == 3);

struct FixedMemoryDescriptor {
  uint8_t tag = 0x86;
  Le16 length = 9;
  uint8_t information = 1;  // writable
  Le32 base;
  Le32 size;
};
static_assert(sizeof(FixedMemoryDescriptor) == 12);

enum class SpaceType : uint8_t { kMemory = 0, kIo = 1, kBusNumber = 2 };

// General flags: the window is fixed at both ends and decoded by subtraction nowhere.
constexpr uint8_t kFixedWindow = 1 << 2 | 1 << 3;
constexpr uint8_t kMemoryWritable = 1;     // type-specific; not cacheable
constexpr uint8_t kIoEntireRange = 1 | 2;  // type-specific: ISA and non-ISA ports

// The Word, DWord and QWord forms differ in their fields' width only.
template <typename Field>
struct AddressSpaceDescriptor {
  uint8_t tag;
  Le16 length = sizeof(AddressSpaceDescriptor) - 3;
  SpaceType type;
  uint8_t general_flags = kFixedWindow;
  uint8_t type_flags;
  Field granularity;
  Field minimum;
  Field maximum;
  Field translation;
  Field size;
};
static_assert(sizeof(AddressSpaceDescriptor<Le16>) == 16);
static_assert(sizeof(AddressSpaceDescriptor<Le32>) == 26);
static_assert(sizeof(AddressSpaceDescriptor<Le64>) == 46);

template <typename Field, typename Value>
AddressSpaceDescriptor<Field> Window(uint8_t tag, SpaceType type, uint8_t type_flags, Value first,
                                     Value last) {
  AddressSpaceDescriptor<Field> window{};
  window.tag = tag;
  window.type = type;
  window.type_flags = type_flags;
  window.minimum = first;
  window.maximum = last;
  window.size = static_cast<Value>(last - first + 1);
  return window;
}

constexpr uint8_t kWordTag = 0x88;
constexpr uint8_t kDWordTag = 0x87;
constexpr uint8_t kQWordTag = 0x8a;

}  // namespace

Resource Ports(uint16_t first, uint8_t count) {
  IoPortDescriptor descriptor{};
  descriptor.minimum = first;
  descriptor.maximum = first;
  descriptor.length = count;
  return Encode(descriptor);
}

Resource IsaIrq(uint8_t irq) {
  IrqDescriptor descriptor{};
  descriptor.mask = static_cast<uint16_t>(1u << irq);
  return Encode(descriptor);
}

Resource FixedMemory(const GuestRange& range) {
  FixedMemoryDescriptor descriptor{};
  descriptor.base = static_cast<uint32_t>(range.start().value());
  descriptor.size = static_cast<uint32_t>(range.length());
  return Encode(descriptor);
}

Resource BusNumbers(uint8_t first, uint8_t last) {
  return Encode(Window<Le16, uint16_t>(kWordTag, SpaceType::kBusNumber, 0, first, last));
}

Resource PortWindow(uint16_t first, uint16_t count) {
  return Encode(Window<Le16, uint16_t>(kWordTag, SpaceType::kIo, kIoEntireRange, first,
                                       static_cast<uint16_t>(first + count - 1)));
}

Resource MemoryWindow32(const GuestRange& range) {
  return Encode(Window<Le32, uint32_t>(kDWordTag, SpaceType::kMemory, kMemoryWritable,
                                       static_cast<uint32_t>(range.start().value()),
                                       static_cast<uint32_t>(range.end().value() - 1)));
}

Resource MemoryWindow64(const GuestRange& range) {
  return Encode(Window<Le64, uint64_t>(kQWordTag, SpaceType::kMemory, kMemoryWritable,
                                       range.start().value(), range.end().value() - 1));
}

}  // namespace skiff::x86_64::aml
