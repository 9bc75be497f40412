#include "devices/legacy/i8042.h"

#include <utility>

#include "devices/legacy/port_access.h"

namespace skiff {
namespace {

constexpr uint64_t kDataPort = 0;
constexpr uint64_t kStatusCommandPort = 4;

constexpr uint8_t kStatusOutputBufferFull = 1 << 0;
// Bit 1, input buffer full, is never set: commands are done when their write returns. That is
// what a guest waits for before it writes kPulseReset.

constexpr uint8_t kReadCommandByte = 0x20;
constexpr uint8_t kWriteCommandByte = 0x60;
constexpr uint8_t kTestAuxiliary = 0xa9;
constexpr uint8_t kSelfTest = 0xaa;
constexpr uint8_t kTestKeyboard = 0xab;
constexpr uint8_t kWriteAuxiliaryOutput = 0xd3;
constexpr uint8_t kPulseReset = 0xfe;

constexpr uint8_t kSelfTestPassed = 0x55;
constexpr uint8_t kClockStuckHigh = 0x02;  // nothing is plugged in
constexpr uint8_t kResend = 0xfe;          // what a device says that did not understand

}  // namespace

void I8042::Read(uint64_t offset, std::span<std::byte> data) {
  if (!IsByteAccess(data) || (offset != kDataPort && offset != kStatusCommandPort))
    return ReadAllOnes(data);
  MutexLock lock(mutex_);
  if (offset == kStatusCommandPort) {
    data[0] = std::byte{output_ ? kStatusOutputBufferFull : uint8_t{0}};
  } else {
    data[0] = std::byte{std::exchange(output_, std::nullopt).value_or(0)};
  }
}

void I8042::Write(uint64_t offset, std::span<const std::byte> data) {
  if (!IsByteAccess(data)) return;
  const uint8_t value = std::to_integer<uint8_t>(data[0]);
  if (offset == kStatusCommandPort && value == kPulseReset)
    return events_.OnGuestEvent(GuestEvent::kReset);
  MutexLock lock(mutex_);
  if (offset == kStatusCommandPort) OnCommand(value);
  if (offset == kDataPort) OnData(value);
}

void I8042::OnCommand(uint8_t command) {
  command_with_data_ = 0;
  switch (command) {
    case kReadCommandByte:
      output_ = command_byte_;
      break;
    case kSelfTest:
      output_ = kSelfTestPassed;
      break;
    case kTestKeyboard:
    case kTestAuxiliary:
      output_ = kClockStuckHigh;
      break;
    case kWriteCommandByte:
    case kWriteAuxiliaryOutput:
      command_with_data_ = command;
      break;
    default:
      break;
  }
}

void I8042::OnData(uint8_t data) {
  switch (std::exchange(command_with_data_, uint8_t{0})) {
    case kWriteCommandByte:
      command_byte_ = data;
      break;
    case kWriteAuxiliaryOutput:  // a loop-back test, which must fail at once
      output_ = 0;
      break;
    default:
      output_ = kResend;
  }
}

}  // namespace skiff
