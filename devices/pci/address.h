#pragma once

#include <compare>
#include <cstdint>

namespace skiff::pci {

inline constexpr uint32_t kDevicesPerBus = 32;
inline constexpr uint32_t kFunctionConfigBytes = 4096;  // what ECAM reserves for each function

// Where a function sits: bus 0-255, device 0-31, function 0-7.
struct Address {
  uint8_t bus = 0;
  uint8_t device = 0;
  uint8_t function = 0;
  constexpr auto operator<=>(const Address&) const = default;
};

// A byte of some function's configuration space, named in one of the two ways a guest can.
struct ConfigAddress {
  Address function;
  uint32_t offset = 0;  // 0-4095

  // PCI Express 3.0, 7.2.2 "Enhanced Configuration Access Mechanism": offset into the window.
  static constexpr ConfigAddress FromEcamOffset(uint64_t offset) {
    return {{static_cast<uint8_t>(offset >> 20), static_cast<uint8_t>(offset >> 15 & 0x1f),
             static_cast<uint8_t>(offset >> 12 & 0x7)},
            static_cast<uint32_t>(offset & 0xfff)};
  }

  // PCI 3.0, 3.2.2.3.2: the CONFIG_ADDRESS register, which names a dword, and a byte of it.
  static constexpr ConfigAddress FromAddressRegister(uint32_t value, uint32_t byte_in_dword) {
    return {{static_cast<uint8_t>(value >> 16), static_cast<uint8_t>(value >> 11 & 0x1f),
             static_cast<uint8_t>(value >> 8 & 0x7)},
            (value & 0xfc) + byte_in_dword};
  }
};

}  // namespace skiff::pci
