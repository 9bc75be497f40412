#include "devices/legacy/pvpanic.h"

#include "devices/legacy/port_access.h"

namespace skiff {

void Pvpanic::Read(uint64_t /*offset*/, std::span<std::byte> data) {
  if (!IsByteAccess(data)) return ReadAllOnes(data);
  data[0] = std::byte{kPvpanicPanicked | kPvpanicCrashLoaded};
}

void Pvpanic::Write(uint64_t /*offset*/, std::span<const std::byte> data) {
  if (!IsByteAccess(data)) return;
  const uint8_t events = std::to_integer<uint8_t>(data[0]);
  if (events & kPvpanicPanicked) {
    events_.OnGuestEvent(GuestEvent::kPanicked);
  } else if (events & kPvpanicCrashLoaded) {
    events_.OnGuestEvent(GuestEvent::kCrashLoaded);
  }
}

}  // namespace skiff
