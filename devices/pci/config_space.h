#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "devices/pci/config_registers.h"

namespace skiff::pci {

// Who a function says it is.
struct Identity {
  uint16_t vendor = 0;
  uint16_t device = 0;
  uint8_t revision = 0;
  uint32_t class_code = 0;  // base class, sub-class, interface
  uint16_t subsystem_vendor = 0;
  uint16_t subsystem = 0;
};

enum class BarKind : uint8_t { kMemory32, kMemory64 };

// The registers of a conventional function (type 0 header, 256 bytes): bytes, which of them the
// guest may change, and what reset makes of them. It has no effects of its own; the function that
// owns it reads back what a write has changed. There is no extended configuration space: reads
// above 255 give all-ones, which tells Linux not to look for extended capabilities.
//
// Externally locked. Composed by its owner's constructor (Add…), then accessed by the guest.
class ConfigSpace {
 public:
  explicit ConfigSpace(const Identity& identity);

  // `size` is a power of two, 16 or more; a 64-bit BAR takes index and index + 1.
  void AddBar(uint8_t index, BarKind kind, uint64_t size, uint64_t initial_address);
  void SetInterruptPin(uint8_t pin, uint8_t initial_line);

  // Appends to the capability list and returns the capability's offset, a multiple of 4. `body`
  // follows the ID and next bytes; set bits of `writable` (as long, or empty) are the guest's.
  // nullopt if the 256 bytes are full.
  std::optional<uint8_t> AddCapability(CapabilityId id, std::span<const std::byte> body,
                                       std::span<const std::byte> writable);

  // Any offset and alignment, up to 8 bytes.
  void Read(uint32_t offset, std::span<std::byte> data) const;
  void Write(uint32_t offset, std::span<const std::byte> data);

  uint16_t command() const { return Word(kCommand); }
  uint64_t BarAddress(uint8_t index, BarKind kind) const;
  uint16_t Word(uint32_t offset) const;
  uint32_t Dword(uint32_t offset) const;

  // The device's own stores, past the write masks: inside the 256 bytes.
  void Store(uint32_t offset, std::span<const std::byte> data);

  // Everything as it was composed.
  void Reset() { bytes_ = initial_; }

 private:
  using Bytes = std::array<std::byte, kConfigSpaceEnd>;

  // Compose `value` into the initial state; `mask` are the bits the guest may change.
  template <typename T>
  void Compose(uint32_t offset, T value, T mask);

  Bytes bytes_{};
  Bytes initial_{};
  Bytes writable_{};
  uint32_t next_capability_ = kHeaderEnd;
  uint32_t last_link_ = kCapabilitiesPointer;  // where the next capability's offset goes
};

}  // namespace skiff::pci
