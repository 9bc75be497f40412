#pragma once

#include <cstdint>

namespace skiff {

// Names and bits: MC146818 data sheet, "Address Map" and "Registers". The century byte is the
// PC's convention, which ACPI's FADT names (ACPI 6.4, 5.2.9, field CENTURY).

inline constexpr uint64_t kRtcPortBase = 0x70;  // index, then data
inline constexpr uint64_t kRtcPorts = 2;

enum class RtcRegister : uint8_t {
  kSeconds = 0x00,
  kSecondsAlarm = 0x01,
  kMinutes = 0x02,
  kMinutesAlarm = 0x03,
  kHours = 0x04,
  kHoursAlarm = 0x05,
  kDayOfWeek = 0x06,  // Sunday is 1
  kDateOfMonth = 0x07,
  kMonth = 0x08,
  kYear = 0x09,  // of the century
  kA = 0x0a,
  kB = 0x0b,
  kC = 0x0c,
  kD = 0x0d,
  kCentury = 0x32,
};
inline constexpr uint8_t kRtcIndexMask = 0x7f;  // the top bit of port 0x70 masks NMIs

inline constexpr uint8_t kRtcAUpdateInProgress = 1 << 7;
inline constexpr uint8_t kRtcADefault = 0x26;  // 32768 Hz time base, 1024 Hz rate

inline constexpr uint8_t kRtcB24Hours = 1 << 1;
inline constexpr uint8_t kRtcBBinary = 1 << 2;  // DM
inline constexpr uint8_t kRtcBSet = 1 << 7;

inline constexpr uint8_t kRtcDValid = 1 << 7;  // VRT

inline constexpr uint8_t kRtcHoursPm = 1 << 7;  // in 12-hour mode

}  // namespace skiff
