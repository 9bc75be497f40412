#pragma once

#include <cstdint>

#include "devices/bus.h"
#include "devices/guest_events.h"

namespace skiff {

// Where the FADT of a hardware-reduced machine points (ACPI 6.4, 4.8.3.6 "Reset Register" and
// 4.8.3.7 "Sleep Control and Status Registers"). One byte each, in I/O space. Not at 0xcf9, where
// PCs have their reset register: that lies inside PCI's configuration ports.
inline constexpr uint64_t kAcpiPortBase = 0x600;
inline constexpr uint64_t kAcpiPorts = 3;
inline constexpr uint64_t kAcpiSleepControlPort = kAcpiPortBase + 0;
inline constexpr uint64_t kAcpiSleepStatusPort = kAcpiPortBase + 1;
inline constexpr uint64_t kAcpiResetPort = kAcpiPortBase + 2;

inline constexpr uint8_t kAcpiResetValue = 1;   // the FADT's RESET_VALUE
inline constexpr uint8_t kAcpiSleepTypeS5 = 5;  // the first element of the DSDT's _S5

// Power-off and reset by ACPI. Stateless, so thread-safe; `events` must outlive it.
class AcpiPorts final : public BusDevice {
 public:
  explicit AcpiPorts(GuestEvents& events) : events_(events) {}

  std::string_view name() const override { return "acpi-ports"; }
  void Read(uint64_t offset, std::span<std::byte> data) override;
  void Write(uint64_t offset, std::span<const std::byte> data) override;

 private:
  GuestEvents& events_;
};

}  // namespace skiff
