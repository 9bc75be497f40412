#include "devices/pci/config_space.h"

#include <algorithm>
#include <bit>

#include "base/arith.h"
#include "base/endian.h"
#include "devices/pci/bytes.h"

namespace skiff::pci {

template <typename T>
void ConfigSpace::Compose(uint32_t offset, T value, T mask) {
  using Field = EndianInt<T, std::endian::little>;
  const auto values = std::bit_cast<std::array<std::byte, sizeof(T)>>(Field(value));
  const auto masks = std::bit_cast<std::array<std::byte, sizeof(T)>>(Field(mask));
  std::copy(values.begin(), values.end(), initial_.begin() + offset);
  std::copy(masks.begin(), masks.end(), writable_.begin() + offset);
  bytes_ = initial_;
}

ConfigSpace::ConfigSpace(const Identity& identity) {
  const auto fixed16 = [this](uint32_t at, uint16_t v) { Compose<uint16_t>(at, v, 0); };
  fixed16(kVendorId, identity.vendor);
  fixed16(kDeviceId, identity.device);
  fixed16(kSubsystemVendorId, identity.subsystem_vendor);
  fixed16(kSubsystemId, identity.subsystem);
  Compose<uint32_t>(kRevisionId, identity.revision | identity.class_code << 8, 0);

  // No I/O BARs, so no I/O enable. Nothing here reports parity or system errors, so the bits that
  // would enable that, and all write-one-to-clear bits of Status, are hardwired to 0.
  constexpr uint16_t kCommandWritable =
      kCommandMemorySpace | kCommandBusMaster | kCommandInterruptDisable;
  Compose<uint16_t>(kCommand, 0, kCommandWritable);
  Compose<uint8_t>(kCacheLineSize, 0, 0xff);
}

void ConfigSpace::AddBar(uint8_t index, BarKind kind, uint64_t size, uint64_t initial_address) {
  const uint32_t at = kBar0 + 4 * uint32_t{index};
  const uint64_t mask = ~(size - 1);
  const uint32_t type = kind == BarKind::kMemory64 ? kBarMemory64 : 0;
  Compose<uint32_t>(at, static_cast<uint32_t>(initial_address) | type,
                    static_cast<uint32_t>(mask) & kBarMemoryAddressMask);
  if (kind == BarKind::kMemory32) return;
  Compose<uint32_t>(at + 4, static_cast<uint32_t>(initial_address >> 32),
                    static_cast<uint32_t>(mask >> 32));
}

void ConfigSpace::SetInterruptPin(uint8_t pin, uint8_t initial_line) {
  Compose<uint8_t>(kInterruptPin, pin, 0);
  // A scratch register for firmware and system software (PCI 3.0, 6.2.4).
  Compose<uint8_t>(kInterruptLine, initial_line, 0xff);
}

std::optional<uint8_t> ConfigSpace::AddCapability(CapabilityId id, std::span<const std::byte> body,
                                                  std::span<const std::byte> writable) {
  const uint32_t at = next_capability_;
  const uint32_t end = at + 2 + static_cast<uint32_t>(body.size());
  if (end > kConfigSpaceEnd) return std::nullopt;
  Compose<uint8_t>(at, static_cast<uint8_t>(id), 0);
  std::copy(body.begin(), body.end(), initial_.begin() + at + 2);
  std::copy(writable.begin(), writable.end(), writable_.begin() + at + 2);
  Compose<uint8_t>(last_link_, static_cast<uint8_t>(at), 0);
  Compose<uint16_t>(kStatus, kStatusCapabilitiesList, 0);
  last_link_ = at + 1;
  next_capability_ = AlignUp(end, 4);
  return static_cast<uint8_t>(at);
}

void ConfigSpace::Read(uint32_t offset, std::span<std::byte> data) const {
  ReadSlice(bytes_, offset, data);
}

void ConfigSpace::Write(uint32_t offset, std::span<const std::byte> data) {
  for (size_t i = 0; i < data.size() && offset + i < bytes_.size(); ++i) {
    const std::byte mask = writable_[offset + i];
    bytes_[offset + i] = (bytes_[offset + i] & ~mask) | (data[i] & mask);
  }
}

uint64_t ConfigSpace::BarAddress(uint8_t index, BarKind kind) const {
  const uint32_t at = kBar0 + 4 * uint32_t{index};
  const uint64_t low = Dword(at) & kBarMemoryAddressMask;
  return kind == BarKind::kMemory32 ? low : low | uint64_t{Dword(at + 4)} << 32;
}

uint16_t ConfigSpace::Word(uint32_t offset) const {
  return static_cast<uint16_t>(ToValue(std::span(bytes_).subspan(offset, 2)));
}

uint32_t ConfigSpace::Dword(uint32_t offset) const {
  return static_cast<uint32_t>(ToValue(std::span(bytes_).subspan(offset, 4)));
}

void ConfigSpace::Store(uint32_t offset, std::span<const std::byte> data) {
  std::copy(data.begin(), data.end(), bytes_.begin() + offset);
}

}  // namespace skiff::pci
