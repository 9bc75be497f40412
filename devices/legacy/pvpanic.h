#pragma once

#include <cstdint>

#include "devices/bus.h"
#include "devices/guest_events.h"

namespace skiff {

// QEMU, docs/specs/pvpanic: the ISA variant, ACPI id QEMU0001. One port: reading tells the events
// we know, writing reports them. Stateless, so thread-safe; `events` must outlive it.
inline constexpr uint64_t kPvpanicPort = 0x505;
inline constexpr uint64_t kPvpanicPorts = 1;

inline constexpr uint8_t kPvpanicPanicked = 1 << 0;
inline constexpr uint8_t kPvpanicCrashLoaded = 1 << 1;

class Pvpanic final : public BusDevice {
 public:
  explicit Pvpanic(GuestEvents& events) : events_(events) {}

  std::string_view name() const override { return "pvpanic"; }
  void Read(uint64_t offset, std::span<std::byte> data) override;
  void Write(uint64_t offset, std::span<const std::byte> data) override;

 private:
  GuestEvents& events_;
};

}  // namespace skiff
