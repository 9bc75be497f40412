#include "devices/legacy/rtc_mc146818.h"

#include <gtest/gtest.h>

namespace skiff {
namespace {

using std::chrono::sys_days;
using std::chrono::sys_seconds;
using namespace std::chrono_literals;

class GuestRtc {
 public:
  void Out(uint8_t index, unsigned value) {
    Port(0, index);
    Port(1, value);
  }
  void Out(RtcRegister which, unsigned value) { Out(static_cast<uint8_t>(which), value); }
  unsigned In(uint8_t index) {
    Port(0, index);
    std::byte byte{};
    rtc.Read(1, std::span(&byte, 1));
    return std::to_integer<unsigned>(byte);
  }
  unsigned In(RtcRegister which) { return In(static_cast<uint8_t>(which)); }
  void Port(uint64_t offset, unsigned value) {
    const std::byte byte{static_cast<uint8_t>(value)};
    rtc.Write(offset, std::span(&byte, 1));
  }

  sys_seconds now = sys_days(2031y / 12 / 7) + 23h + 59min + 58s;  // a Sunday
  RtcMc146818 rtc{[this] { return now; }};
};

TEST(RtcMc146818, ShowsUtcInBcd) {
  GuestRtc guest;
  EXPECT_EQ(guest.In(RtcRegister::kSeconds), 0x58U);
  EXPECT_EQ(guest.In(RtcRegister::kMinutes), 0x59U);
  EXPECT_EQ(guest.In(RtcRegister::kHours), 0x23U);
  EXPECT_EQ(guest.In(RtcRegister::kDayOfWeek), 0x01U);
  EXPECT_EQ(guest.In(RtcRegister::kDateOfMonth), 0x07U);
  EXPECT_EQ(guest.In(RtcRegister::kMonth), 0x12U);
  EXPECT_EQ(guest.In(RtcRegister::kYear), 0x31U);
  EXPECT_EQ(guest.In(RtcRegister::kCentury), 0x20U);
  guest.now += 2s;
  EXPECT_EQ(guest.In(RtcRegister::kSeconds), 0x00U);
  EXPECT_EQ(guest.In(RtcRegister::kDateOfMonth), 0x08U);
  EXPECT_EQ(guest.In(RtcRegister::kDayOfWeek), 0x02U);
}

TEST(RtcMc146818, BinaryAndTwelveHoursAreOnlyOtherViews) {
  GuestRtc guest;
  guest.Out(RtcRegister::kB, kRtcB24Hours | kRtcBBinary);
  EXPECT_EQ(guest.In(RtcRegister::kHours), 23U);
  EXPECT_EQ(guest.In(RtcRegister::kMinutes), 59U);
  guest.Out(RtcRegister::kB, kRtcBBinary);
  EXPECT_EQ(guest.In(RtcRegister::kHours), 11U | kRtcHoursPm);
  guest.Out(RtcRegister::kHours, 12U);  // midnight
  guest.Out(RtcRegister::kB, kRtcB24Hours);
  EXPECT_EQ(guest.In(RtcRegister::kHours), 0x00U);
  guest.Out(RtcRegister::kB, 0);
  guest.Out(RtcRegister::kHours, 0x12U | kRtcHoursPm);  // noon
  guest.Out(RtcRegister::kB, kRtcB24Hours);
  EXPECT_EQ(guest.In(RtcRegister::kHours), 0x12U);
}

// What Linux demands before it takes the clock (rtc_cmos, mc146818_get_time).
TEST(RtcMc146818, NeverMakesLinuxWait) {
  GuestRtc guest;
  EXPECT_FALSE(guest.In(RtcRegister::kA) & kRtcAUpdateInProgress);
  guest.Out(RtcRegister::kA, 0xff);
  EXPECT_FALSE(guest.In(RtcRegister::kA) & kRtcAUpdateInProgress);
  EXPECT_TRUE(guest.In(RtcRegister::kB) & kRtcB24Hours);
  EXPECT_EQ(guest.In(RtcRegister::kC), 0U);
  guest.Out(RtcRegister::kD, 0);
  EXPECT_EQ(guest.In(RtcRegister::kD), kRtcDValid);
}

// As Linux' mc146818_set_time() does it.
TEST(RtcMc146818, KeepsTheTimeThatTheGuestSets) {
  GuestRtc guest;
  guest.Out(RtcRegister::kB, kRtcB24Hours | kRtcBSet);
  const unsigned frozen = guest.In(RtcRegister::kSeconds);
  guest.now += 1s;
  EXPECT_EQ(guest.In(RtcRegister::kSeconds), frozen);
  guest.Out(RtcRegister::kYear, 0x99);
  guest.Out(RtcRegister::kMonth, 0x02);
  guest.Out(RtcRegister::kDateOfMonth, 0x28);
  guest.Out(RtcRegister::kHours, 0x23);
  guest.Out(RtcRegister::kMinutes, 0x59);
  guest.Out(RtcRegister::kSeconds, 0x50);
  guest.Out(RtcRegister::kCentury, 0x19);
  guest.Out(RtcRegister::kB, kRtcB24Hours);
  guest.now += 11s;
  EXPECT_EQ(guest.In(RtcRegister::kSeconds), 0x01U);
  EXPECT_EQ(guest.In(RtcRegister::kMonth), 0x03U);
  EXPECT_EQ(guest.In(RtcRegister::kDateOfMonth), 0x01U);
  EXPECT_EQ(guest.In(RtcRegister::kYear), 0x99U);
  EXPECT_EQ(guest.In(RtcRegister::kCentury), 0x19U);
}

TEST(RtcMc146818, TakesAnyNonsenseAsTime) {
  GuestRtc guest;
  for (const unsigned value : {0x00U, 0x0fU, 0x7fU, 0xffU}) {
    for (const unsigned mode : {0U, 0x02U, 0x04U, 0x86U, 0x06U}) {
      guest.Out(RtcRegister::kB, mode);
      for (unsigned index = 0; index < 0x80; ++index) {
        guest.Out(static_cast<uint8_t>(index), index == 0x0b ? mode : value);
        guest.In(static_cast<uint8_t>(index));
      }
    }
  }
  guest.Out(RtcRegister::kB, kRtcB24Hours);
  EXPECT_LE(guest.In(RtcRegister::kMonth), 0x12U);
  EXPECT_LE(guest.In(RtcRegister::kSeconds), 0x59U);
}

TEST(RtcMc146818, TheRestIsMemory) {
  GuestRtc guest;
  guest.Out(0x7f, 0xa5);
  guest.Out(RtcRegister::kHoursAlarm, 0x11);
  guest.Out(0x8f, 0x0a);  // with the NMI mask
  EXPECT_EQ(guest.In(0x7f), 0xa5U);
  EXPECT_EQ(guest.In(RtcRegister::kHoursAlarm), 0x11U);
  EXPECT_EQ(guest.In(0x0f), 0x0aU);
  std::byte byte{};
  guest.rtc.Read(0, std::span(&byte, 1));
  EXPECT_EQ(byte, std::byte{0xff});
}

}  // namespace
}  // namespace skiff
