#include "devices/legacy/serial_8250.h"

#include <span>

#include "devices/legacy/port_access.h"

namespace skiff {

Serial8250::Serial8250(IrqLine& irq, CharacterPort& port) : irq_(irq), port_(port) {
  port_.OnReadable([this] { OnPortReadable(); });
}

Serial8250::~Serial8250() { port_.OnReadable({}); }

void Serial8250::Read(uint64_t offset, std::span<std::byte> data) {
  if (!IsByteAccess(data) || offset >= kUartPorts) return ReadAllOnes(data);
  MutexLock lock(mutex_);
  data[0] = std::byte{ReadRegister(static_cast<UartRegister>(offset))};
  UpdateIrq();
}

void Serial8250::Write(uint64_t offset, std::span<const std::byte> data) {
  if (!IsByteAccess(data) || offset >= kUartPorts) return;
  std::optional<uint8_t> to_send;
  {
    MutexLock lock(mutex_);
    to_send = WriteRegister(static_cast<UartRegister>(offset), std::to_integer<uint8_t>(data[0]));
    UpdateIrq();
  }
  if (!to_send) return;
  // Unlocked, since the port may wait for its reader. The guest hears that the transmitter is
  // empty only afterwards, so its next byte cannot overtake this one.
  port_.Send(std::as_bytes(std::span(&*to_send, 1)));
  MutexLock lock(mutex_);
  transmit_empty_pending_ = true;
  UpdateIrq();
}

void Serial8250::OnPortReadable() {
  MutexLock lock(mutex_);
  if (!WantsInput()) return;
  std::array<std::byte, kUartFifoBytes> bytes;
  const size_t room = ReceiveCapacity() - receive_.size();
  const size_t count = port_.Receive(std::span(bytes).first(room));
  for (const std::byte byte : std::span(bytes).first(count))
    receive_.Push(std::to_integer<uint8_t>(byte));
  UpdateIrq();
}

uint8_t Serial8250::ReadRegister(UartRegister which) {
  switch (which) {
    case UartRegister::kRbrThr:
      return divisor_latch_access() ? divisor_[0] : ReadReceiveBuffer();
    case UartRegister::kIer:
      return divisor_latch_access() ? divisor_[1] : ier_;
    case UartRegister::kIirFcr:
      return ReadInterruptIdentification();
    case UartRegister::kLcr:
      return lcr_;
    case UartRegister::kMcr:
      return mcr_;
    case UartRegister::kLsr:
      return ReadLineStatus();
    case UartRegister::kMsr:
      return ReadModemStatus();
    case UartRegister::kScr:
      return scr_;
  }
  return 0xff;
}

uint8_t Serial8250::ReadReceiveBuffer() {
  if (receive_.empty()) return 0;
  const uint8_t byte = receive_.Pop();
  // Not refilled here and now: the line must fall first (an edge-triggered input would miss the
  // new bytes), and the guest's interrupt handler must find an end.
  if (receive_.empty() && WantsInput()) port_.RequestCallback();
  return byte;
}

uint8_t Serial8250::ReadInterruptIdentification() {
  const uint8_t cause = PendingCause();
  if (cause == kIirTransmitEmpty) transmit_empty_pending_ = false;  // this read acknowledges it
  return static_cast<uint8_t>(cause | (fcr_ & kFcrEnable ? kIirFifosEnabled : 0));
}

uint8_t Serial8250::ReadLineStatus() {
  uint8_t status = kLsrTransmitHoldingEmpty | kLsrTransmitterEmpty;
  if (!receive_.empty()) status |= kLsrDataReady;
  if (overrun_) status |= kLsrOverrun;
  overrun_ = false;
  return status;
}

uint8_t Serial8250::ReadModemStatus() {
  const uint8_t status = static_cast<uint8_t>(ModemLines() | modem_deltas_);
  modem_deltas_ = 0;
  return status;
}

std::optional<uint8_t> Serial8250::WriteRegister(UartRegister which, uint8_t value) {
  switch (which) {
    case UartRegister::kRbrThr:
      if (!divisor_latch_access()) return WriteTransmitHolding(value);
      divisor_[0] = value;
      break;
    case UartRegister::kIer:
      if (divisor_latch_access()) {
        divisor_[1] = value;
      } else {
        WriteInterruptEnable(value);
      }
      break;
    case UartRegister::kIirFcr:
      WriteFifoControl(value);
      break;
    case UartRegister::kLcr:
      lcr_ = value;
      break;
    case UartRegister::kMcr:
      WriteModemControl(value);
      break;
    case UartRegister::kScr:
      scr_ = value;
      break;
    case UartRegister::kLsr:
    case UartRegister::kMsr:
      break;  // read only
  }
  return std::nullopt;
}

std::optional<uint8_t> Serial8250::WriteTransmitHolding(uint8_t value) {
  if (!loopback()) return value;
  if (receive_.size() < ReceiveCapacity()) {
    receive_.Push(value);
  } else {
    overrun_ = true;
  }
  transmit_empty_pending_ = true;
  return std::nullopt;
}

void Serial8250::WriteInterruptEnable(uint8_t value) {
  // Enabling the transmitter's interrupt while the transmitter is empty, which ours always is,
  // raises it anew. Linux's start-up test takes a chip that does not for a broken one.
  if (value & ~ier_ & kIerTransmitEmpty) transmit_empty_pending_ = true;
  ier_ = value & kIerDefined;
  if (WantsInput()) port_.RequestCallback();
}

void Serial8250::WriteFifoControl(uint8_t value) {
  const bool switched = (value ^ fcr_) & kFcrEnable;
  // PC16550D, 8.4 "FIFO Control Register": the other bits count only together with bit 0.
  const bool reset = (value & kFcrEnable) && (value & kFcrResetReceiver);
  if (switched || reset) {
    receive_.Clear();
    overrun_ = false;
    if (WantsInput()) port_.RequestCallback();
  }
  fcr_ = value & kFcrEnable ? value : 0;
}

void Serial8250::WriteModemControl(uint8_t value) {
  const uint8_t before = ModemLines();
  mcr_ = value & kMcrDefined;
  const uint8_t changed = before ^ ModemLines();
  modem_deltas_ |= static_cast<uint8_t>((changed & ~kMsrRi) >> kMsrDeltaShift);
  if (changed & before & kMsrRi) modem_deltas_ |= kMsrTrailingEdgeRi;
  if ((mcr_ & kMcrRts) && !loopback()) used_rts_ = true;
  if (WantsInput()) port_.RequestCallback();
}

size_t Serial8250::ReceiveCapacity() const { return fcr_ & kFcrEnable ? kUartFifoBytes : 1; }

size_t Serial8250::TriggerLevel() const {
  constexpr std::array<size_t, 4> kLevels = {1, 4, 8, 14};
  return fcr_ & kFcrEnable ? kLevels[fcr_ >> kFcrTriggerShift] : 1;
}

bool Serial8250::WantsInput() const {
  if (loopback()) return false;  // the line is disconnected
  return (mcr_ & kMcrRts) || (!used_rts_ && (ier_ & kIerReceivedData));
}

// A peer that is always there and ready; in loopback our own outputs (PC16550D, 8.7 "MODEM
// Control Register", bit 4).
uint8_t Serial8250::ModemLines() const {
  if (!loopback()) return kMsrDcd | kMsrDsr | kMsrCts;
  uint8_t lines = 0;
  if (mcr_ & kMcrDtr) lines |= kMsrDsr;
  if (mcr_ & kMcrRts) lines |= kMsrCts;
  if (mcr_ & kMcrOut1) lines |= kMsrRi;
  if (mcr_ & kMcrOut2) lines |= kMsrDcd;
  return lines;
}

uint8_t Serial8250::PendingCause() const {
  if ((ier_ & kIerLineStatus) && overrun_) return kIirLineStatus;
  if ((ier_ & kIerReceivedData) && !receive_.empty()) {
    // Below the trigger level the character timeout strikes, on a line without speed at once.
    const bool timeout = receive_.size() < TriggerLevel();
    return timeout ? kIirCharacterTimeout : kIirReceivedData;
  }
  if ((ier_ & kIerTransmitEmpty) && transmit_empty_pending_) return kIirTransmitEmpty;
  if ((ier_ & kIerModemStatus) && modem_deltas_ != 0) return kIirModemStatus;
  return kIirNonePending;
}

void Serial8250::UpdateIrq() {
  const bool raise = PendingCause() != kIirNonePending;
  if (raise == irq_raised_) return;
  irq_raised_ = raise;
  if (raise) {
    irq_.Raise();
  } else {
    irq_.Lower();
  }
}

}  // namespace skiff
