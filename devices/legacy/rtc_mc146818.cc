#include "devices/legacy/rtc_mc146818.h"

#include <utility>

#include "devices/legacy/port_access.h"

namespace skiff {
namespace {

constexpr uint8_t Index(RtcRegister which) { return static_cast<uint8_t>(which); }

}  // namespace

std::chrono::sys_seconds RtcMc146818::HostNow() {
  return std::chrono::floor<std::chrono::seconds>(std::chrono::system_clock::now());
}

RtcMc146818::RtcMc146818(Now now) : now_(std::move(now)) {
  MutexLock lock(mutex_);
  memory_[Index(RtcRegister::kA)] = kRtcADefault;
  memory_[Index(RtcRegister::kB)] = kRtcB24Hours;
  memory_[Index(RtcRegister::kD)] = kRtcDValid;
}

void RtcMc146818::Read(uint64_t offset, std::span<std::byte> data) {
  if (!IsByteAccess(data) || offset != 1) return ReadAllOnes(data);  // the index is write-only
  MutexLock lock(mutex_);
  data[0] = std::byte{ReadCell(index_)};
}

void RtcMc146818::Write(uint64_t offset, std::span<const std::byte> data) {
  if (!IsByteAccess(data)) return;
  const uint8_t value = std::to_integer<uint8_t>(data[0]);
  MutexLock lock(mutex_);
  if (offset == 0) {
    index_ = value & kRtcIndexMask;
  } else {
    WriteCell(index_, value);
  }
}

uint8_t RtcMc146818::ReadCell(uint8_t index) {
  Fields shown = Shown();
  if (const uint8_t* field = FieldOf(shown, index)) return Encode(index, *field);
  return memory_[index];
}

void RtcMc146818::WriteCell(uint8_t index, uint8_t value) {
  Fields fields = Shown();
  if (uint8_t* field = FieldOf(fields, index)) {
    *field = Decode(index, value);
    if (frozen_) {
      frozen_ = fields;
    } else {
      SetTime(fields);
    }
    return;
  }
  switch (static_cast<RtcRegister>(index)) {
    case RtcRegister::kA:
      memory_[index] = static_cast<uint8_t>(value & ~kRtcAUpdateInProgress);
      break;
    case RtcRegister::kB:
      WriteRegisterB(value);
      break;
    case RtcRegister::kC:
    case RtcRegister::kD:
      break;  // read only
    default:
      memory_[index] = value;
  }
}

void RtcMc146818::WriteRegisterB(uint8_t value) {
  // The fields are kept as numbers, so a change of their encoding keeps the time.
  memory_[Index(RtcRegister::kB)] = value;
  if (value & kRtcBSet) {
    if (!frozen_) frozen_ = Shown();
  } else if (frozen_) {
    const Fields fields = *frozen_;
    frozen_.reset();
    SetTime(fields);
  }
}

RtcMc146818::Fields RtcMc146818::Shown() const {
  return frozen_ ? *frozen_ : ToFields(now_() + offset_);
}

void RtcMc146818::SetTime(const Fields& fields) { offset_ = FromFields(fields) - now_(); }

RtcMc146818::Fields RtcMc146818::ToFields(std::chrono::sys_seconds time) {
  const auto day = std::chrono::floor<std::chrono::days>(time);
  const std::chrono::year_month_day date(day);
  const std::chrono::hh_mm_ss clock(time - day);
  const auto year = static_cast<unsigned>(static_cast<int>(date.year()));
  return {
      .seconds = static_cast<uint8_t>(clock.seconds().count()),
      .minutes = static_cast<uint8_t>(clock.minutes().count()),
      .hours = static_cast<uint8_t>(clock.hours().count()),
      .day_of_week = static_cast<uint8_t>(std::chrono::weekday(day).c_encoding() + 1),
      .date = static_cast<uint8_t>(static_cast<unsigned>(date.day())),
      .month = static_cast<uint8_t>(static_cast<unsigned>(date.month())),
      .year = static_cast<uint8_t>(year % 100),
      .century = static_cast<uint8_t>(year / 100),
  };
}

// Days and times beyond their units' ends count on (the 31st of April is the 1st of May), a
// month that does not exist is taken for its neighbour.
std::chrono::sys_seconds RtcMc146818::FromFields(const Fields& fields) {
  const unsigned month = fields.month < 1 ? 1 : fields.month > 12 ? 12 : fields.month;
  const std::chrono::year_month_day first(std::chrono::year(fields.century * 100 + fields.year),
                                          std::chrono::month(month), std::chrono::day(1));
  return std::chrono::sys_days(first) + std::chrono::days(fields.date) - std::chrono::days(1) +
         std::chrono::hours(fields.hours) + std::chrono::minutes(fields.minutes) +
         std::chrono::seconds(fields.seconds);
}

uint8_t* RtcMc146818::FieldOf(Fields& fields, uint8_t index) {
  switch (static_cast<RtcRegister>(index)) {
    case RtcRegister::kSeconds:
      return &fields.seconds;
    case RtcRegister::kMinutes:
      return &fields.minutes;
    case RtcRegister::kHours:
      return &fields.hours;
    case RtcRegister::kDayOfWeek:
      return &fields.day_of_week;
    case RtcRegister::kDateOfMonth:
      return &fields.date;
    case RtcRegister::kMonth:
      return &fields.month;
    case RtcRegister::kYear:
      return &fields.year;
    case RtcRegister::kCentury:
      return &fields.century;
    default:
      return nullptr;
  }
}

uint8_t RtcMc146818::Encode(uint8_t index, uint8_t number) const {
  const uint8_t mode = memory_[Index(RtcRegister::kB)];
  uint8_t flags = 0;
  if (index == Index(RtcRegister::kHours) && !(mode & kRtcB24Hours)) {
    if (number >= 12) flags = kRtcHoursPm;
    number = static_cast<uint8_t>((number + 11) % 12 + 1);
  }
  if (!(mode & kRtcBBinary)) number = static_cast<uint8_t>(number / 10 * 16 + number % 10);
  return number | flags;
}

uint8_t RtcMc146818::Decode(uint8_t index, uint8_t stored) const {
  const uint8_t mode = memory_[Index(RtcRegister::kB)];
  const bool twelve_hours = index == Index(RtcRegister::kHours) && !(mode & kRtcB24Hours);
  const bool pm = twelve_hours && (stored & kRtcHoursPm);
  if (twelve_hours) stored &= static_cast<uint8_t>(~kRtcHoursPm);
  if (!(mode & kRtcBBinary)) stored = static_cast<uint8_t>((stored >> 4) * 10 + (stored & 0xf));
  if (!twelve_hours) return stored;
  return static_cast<uint8_t>(stored % 12 + (pm ? 12 : 0));
}

}  // namespace skiff
