#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>

#include "base/mutex.h"
#include "devices/bus.h"
#include "devices/legacy/rtc_mc146818_registers.h"

namespace skiff {

// The clock and CMOS memory of a PC behind ports 0x70 and 0x71 (MC146818 data sheet). It shows
// UTC; a guest that sets the time gets an offset to the host's clock, for the life of this object.
//
// A read is never in the middle of an update (UIP stays 0), so drivers need not wait. Alarm,
// periodic and update-ended interrupts do not exist: their flags in register C stay 0.
// Thread-safe.
class RtcMc146818 final : public BusDevice {
 public:
  using Now = std::function<std::chrono::sys_seconds()>;
  static std::chrono::sys_seconds HostNow();

  explicit RtcMc146818(Now now = HostNow);

  std::string_view name() const override { return "rtc"; }
  void Read(uint64_t offset, std::span<std::byte> data) override EXCLUDES(mutex_);
  void Write(uint64_t offset, std::span<const std::byte> data) override EXCLUDES(mutex_);

 private:
  // The time as its registers show it, in plain numbers. Any value a byte can hold may be in it
  // while the guest sets the time.
  struct Fields {
    uint8_t seconds, minutes, hours, day_of_week, date, month, year, century;
  };
  static Fields ToFields(std::chrono::sys_seconds time);
  static std::chrono::sys_seconds FromFields(const Fields& fields);
  static uint8_t* FieldOf(Fields& fields, uint8_t index);

  uint8_t ReadCell(uint8_t index) REQUIRES(mutex_);
  void WriteCell(uint8_t index, uint8_t value) REQUIRES(mutex_);
  void WriteRegisterB(uint8_t value) REQUIRES(mutex_);
  Fields Shown() const REQUIRES(mutex_);
  void SetTime(const Fields& fields) REQUIRES(mutex_);
  uint8_t Encode(uint8_t index, uint8_t number) const REQUIRES(mutex_);
  uint8_t Decode(uint8_t index, uint8_t stored) const REQUIRES(mutex_);

  const Now now_;

  Mutex mutex_;
  uint8_t index_ GUARDED_BY(mutex_) = 0;
  std::array<uint8_t, 128> memory_ GUARDED_BY(mutex_){};  // all cells but those of the time
  std::chrono::seconds offset_ GUARDED_BY(mutex_){0};     // guest's clock minus the host's
  std::optional<Fields> frozen_ GUARDED_BY(mutex_);       // while register B's SET is 1
};

}  // namespace skiff
