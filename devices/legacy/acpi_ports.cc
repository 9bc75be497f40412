#include "devices/legacy/acpi_ports.h"

#include "devices/legacy/port_access.h"

namespace skiff {
namespace {

// ACPI 6.4, table 4.23 "Sleep Control Register".
constexpr uint8_t kSleepEnable = 1 << 5;
constexpr unsigned kSleepTypeShift = 2;
constexpr uint8_t kSleepTypeMask = 0x7;

}  // namespace

// Zeros: nothing sleeps, and nothing woke up (the status register's WAK_STS).
void AcpiPorts::Read(uint64_t /*offset*/, std::span<std::byte> data) {
  if (!IsByteAccess(data)) return ReadAllOnes(data);
  data[0] = std::byte{0};
}

void AcpiPorts::Write(uint64_t offset, std::span<const std::byte> data) {
  if (!IsByteAccess(data)) return;
  const uint8_t value = std::to_integer<uint8_t>(data[0]);
  const uint8_t sleep_type = (value >> kSleepTypeShift) & kSleepTypeMask;
  const uint64_t port = kAcpiPortBase + offset;
  if (port == kAcpiSleepControlPort && (value & kSleepEnable) && sleep_type == kAcpiSleepTypeS5)
    events_.OnGuestEvent(GuestEvent::kPowerOff);
  if (port == kAcpiResetPort && value == kAcpiResetValue) events_.OnGuestEvent(GuestEvent::kReset);
}

}  // namespace skiff
