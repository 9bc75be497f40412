// The ports by which a guest ends: i8042, ACPI, pvpanic.
#include <gtest/gtest.h>

#include <array>
#include <vector>

#include "devices/legacy/acpi_ports.h"
#include "devices/legacy/i8042.h"
#include "devices/legacy/pvpanic.h"

namespace skiff {
namespace {

using Events = std::vector<GuestEvent>;

class Recorder final : public GuestEvents {
 public:
  void OnGuestEvent(GuestEvent event) override { events.push_back(event); }
  Events events;
};

void Out(BusDevice& device, uint64_t offset, unsigned value) {
  const std::byte byte{static_cast<uint8_t>(value)};
  device.Write(offset, std::span(&byte, 1));
}
unsigned In(BusDevice& device, uint64_t offset) {
  std::byte byte{};
  device.Read(offset, std::span(&byte, 1));
  return std::to_integer<unsigned>(byte);
}

TEST(I8042, ResetsAsLinuxAsksForIt) {
  Recorder recorder;
  I8042 i8042(recorder);
  EXPECT_EQ(In(i8042, 4) & 0x02, 0U);  // kb_wait()
  Out(i8042, 4, 0xfe);
  EXPECT_EQ(recorder.events, Events{GuestEvent::kReset});
}

TEST(I8042, OnlyTheResetCommandResets) {
  Recorder recorder;
  I8042 i8042(recorder);
  for (unsigned value = 0; value < 0x100; ++value) {
    if (value != 0xfe) Out(i8042, 4, value);
    Out(i8042, 0, value);
    for (uint64_t between = 1; between < 4; ++between) {
      Out(i8042, between, 0xfe);
      EXPECT_EQ(In(i8042, between), 0xffU);
    }
  }
  EXPECT_EQ(recorder.events, Events{});
}

TEST(I8042, AnswersADriversProbingAtOnce) {
  Recorder recorder;
  I8042 i8042(recorder);
  const auto ask = [&](unsigned command) {
    Out(i8042, 4, command);
    EXPECT_EQ(In(i8042, 4), 0x01U) << command;
    return In(i8042, 0);
  };
  EXPECT_EQ(In(i8042, 4), 0U);  // nothing to flush
  EXPECT_EQ(ask(0xaa), 0x55U);
  Out(i8042, 4, 0x60);
  Out(i8042, 0, 0x74);
  EXPECT_EQ(In(i8042, 4), 0U);
  EXPECT_EQ(ask(0x20), 0x74U);
  EXPECT_NE(ask(0xa9), 0U);  // no mouse
  Out(i8042, 4, 0xd3);
  Out(i8042, 0, 0x5a);
  EXPECT_NE(In(i8042, 0), 0x5aU);
  Out(i8042, 0, 0xf2);  // "who are you" to a keyboard that is not there
  EXPECT_EQ(In(i8042, 0), 0xfeU);
}

TEST(AcpiPorts, PowerOffTakesS5AndTheEnableBit) {
  Recorder recorder;
  AcpiPorts ports(recorder);
  Out(ports, 0, 5U << 2);
  Out(ports, 0, 1U << 5);
  Out(ports, 0, 1U << 5 | 3U << 2);
  Out(ports, 1, 1U << 5 | 5U << 2);
  EXPECT_EQ(recorder.events, Events{});
  Out(ports, 0, 1U << 5 | 5U << 2);
  EXPECT_EQ(recorder.events, Events{GuestEvent::kPowerOff});
  EXPECT_EQ(In(ports, 1), 0U);
}

TEST(AcpiPorts, ResetTakesItsValueInItsPort) {
  Recorder recorder;
  AcpiPorts ports(recorder);
  Out(ports, 2, 0);
  Out(ports, 2, 6);
  Out(ports, 1, kAcpiResetValue);
  const std::array<std::byte, 2> wide{std::byte{1}};
  ports.Write(2, wide);
  EXPECT_EQ(recorder.events, Events{});
  Out(ports, 2, kAcpiResetValue);
  EXPECT_EQ(recorder.events, Events{GuestEvent::kReset});
}

TEST(Pvpanic, TellsWhatItKnowsAndReportsWhatComes) {
  Recorder recorder;
  Pvpanic pvpanic(recorder);
  EXPECT_EQ(In(pvpanic, 0), 0x03U);
  Out(pvpanic, 0, 0);
  Out(pvpanic, 0, 0xfc);
  EXPECT_EQ(recorder.events, Events{});
  Out(pvpanic, 0, 2);
  Out(pvpanic, 0, 1);
  EXPECT_EQ(recorder.events, (Events{GuestEvent::kCrashLoaded, GuestEvent::kPanicked}));
}

}  // namespace
}  // namespace skiff
