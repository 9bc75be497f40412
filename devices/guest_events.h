#pragma once

#include <cstdint>

namespace skiff {

// What a guest does to the machine as a whole.
enum class GuestEvent : uint8_t {
  kPowerOff,     // ACPI S5
  kReset,        // reset register, i8042
  kPanicked,     // pvpanic: the guest's kernel panicked
  kCrashLoaded,  // pvpanic: it panicked and its own crash kernel takes over; the guest runs on
};

// Receives them. Calls come from vCPU threads and must not block; the first event that ends the
// guest wins.
class GuestEvents {
 public:
  virtual ~GuestEvents() = default;
  virtual void OnGuestEvent(GuestEvent event) = 0;
};

}  // namespace skiff
