#pragma once

#include <cstdint>
#include <optional>

#include "base/mutex.h"
#include "devices/bus.h"
#include "devices/guest_events.h"

namespace skiff {

// Ports 0x60 (data) and 0x64 (status and command), attached as one range with nothing between.
inline constexpr uint64_t kI8042PortBase = 0x60;
inline constexpr uint64_t kI8042Ports = 5;

// A PC's keyboard controller without keyboard and mouse (names of "IBM PS/2 Keyboard and
// Auxiliary Device Controller"): it resets the machine, and answers a driver's probing at once,
// so that nobody waits for what is not there. Thread-safe; `events` must outlive it.
class I8042 final : public BusDevice {
 public:
  explicit I8042(GuestEvents& events) : events_(events) {}

  std::string_view name() const override { return "i8042"; }
  void Read(uint64_t offset, std::span<std::byte> data) override EXCLUDES(mutex_);
  void Write(uint64_t offset, std::span<const std::byte> data) override EXCLUDES(mutex_);

 private:
  void OnCommand(uint8_t command) REQUIRES(mutex_);
  void OnData(uint8_t data) REQUIRES(mutex_);

  GuestEvents& events_;
  Mutex mutex_;
  uint8_t command_byte_ GUARDED_BY(mutex_) = 0;
  std::optional<uint8_t> output_ GUARDED_BY(mutex_);  // the output buffer
  uint8_t command_with_data_ GUARDED_BY(mutex_) = 0;  // 0: the next data byte is a keyboard's
};

}  // namespace skiff
