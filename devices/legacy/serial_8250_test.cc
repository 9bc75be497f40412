#include "devices/legacy/serial_8250.h"

#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <string>
#include <thread>
#include <utility>

namespace skiff {
namespace {

class FakeIrq final : public IrqLine {
 public:
  void Raise() override {
    high = true;
    ++edges;
  }
  void Lower() override { high = false; }
  std::atomic<bool> high{false};
  std::atomic<int> edges{0};
};

// Input lies in `input`; Deliver() is the host thread's turn.
class FakePort final : public CharacterPort {
 public:
  void Send(std::span<const std::byte> bytes) override {
    for (const std::byte byte : bytes) sent.push_back(static_cast<char>(byte));
    if (on_send) on_send();
  }
  size_t Receive(std::span<std::byte> bytes) override {
    const size_t count = std::min(bytes.size(), input.size());
    for (size_t i = 0; i < count; ++i) bytes[i] = static_cast<std::byte>(input[i]);
    input.erase(0, count);
    return count;
  }
  void OnReadable(std::function<void()> new_callback) override { callback = new_callback; }
  void RequestCallback() override { requested = true; }

  // As the console does it: callbacks as long as the device asks for them.
  void Deliver(std::string_view text) {
    input += text;
    callback();
  }
  bool DeliverRequested() {
    if (!requested.exchange(false) || input.empty()) return false;
    callback();
    return true;
  }

  std::string sent;
  std::string input;
  std::function<void()> callback;
  std::function<void()> on_send;
  std::atomic<bool> requested{false};
};

// The guest's side.
class Guest8250 {
 public:
  Guest8250() : uart(irq, port) {}

  void Out(UartRegister which, unsigned value) {
    const std::byte byte{static_cast<uint8_t>(value)};
    uart.Write(static_cast<uint64_t>(which), std::span(&byte, 1));
  }
  unsigned In(UartRegister which) {
    std::byte byte{};
    uart.Read(static_cast<uint64_t>(which), std::span(&byte, 1));
    return std::to_integer<unsigned>(byte);
  }
  unsigned Cause() { return In(UartRegister::kIirFcr) & 0x3f; }
  // As a driver opens the port: FIFO on, trigger level 8, receive interrupt, DTR, RTS, OUT2.
  void Open() {
    Out(UartRegister::kIirFcr, kFcrEnable | (2U << kFcrTriggerShift));
    Out(UartRegister::kIer, kIerReceivedData | kIerLineStatus);
    Out(UartRegister::kMcr, kMcrDtr | kMcrRts | kMcrOut2);
  }
  // A driver's interrupt handler for received data.
  std::string HandleReceive() {
    std::string got;
    while (Cause() != kIirNonePending) {
      while (In(UartRegister::kLsr) & kLsrDataReady)
        got.push_back(static_cast<char>(In(UartRegister::kRbrThr)));
    }
    return got;
  }

  FakeIrq irq;
  FakePort port;
  Serial8250 uart;
};

TEST(Serial8250, ReadingIirAcknowledgesTransmitEmpty) {
  Guest8250 guest;
  guest.Out(UartRegister::kIer, kIerTransmitEmpty);
  EXPECT_EQ(guest.Cause(), kIirTransmitEmpty);
  EXPECT_FALSE(guest.irq.high);
  guest.Out(UartRegister::kRbrThr, 'A');
  EXPECT_EQ(guest.port.sent, "A");
  EXPECT_TRUE(guest.irq.high);
  EXPECT_EQ(guest.irq.edges, 2);  // a new edge after the acknowledgement
  EXPECT_EQ(guest.Cause(), kIirTransmitEmpty);
  EXPECT_EQ(guest.Cause(), kIirNonePending);
  EXPECT_FALSE(guest.irq.high);
}

// Linux, serial8250_do_startup(): a chip that does not raise the interrupt again is polled by a
// timer from then on (UART_BUG_THRE, UART_BUG_TXEN).
TEST(Serial8250, PassesTheStartupTestForLostTransmitInterrupts) {
  Guest8250 guest;
  guest.Out(UartRegister::kIer, kIerTransmitEmpty);
  EXPECT_NE(guest.Cause(), kIirNonePending);
  guest.Out(UartRegister::kIer, 0);
  EXPECT_FALSE(guest.irq.high);
  guest.Out(UartRegister::kIer, kIerTransmitEmpty);
  EXPECT_EQ(guest.Cause(), kIirTransmitEmpty);
  guest.Out(UartRegister::kIer, 0);
  guest.Out(UartRegister::kIer, kIerTransmitEmpty);
  EXPECT_TRUE(guest.In(UartRegister::kLsr) & kLsrTransmitterEmpty);
  EXPECT_EQ(guest.Cause(), kIirTransmitEmpty);
  guest.Out(UartRegister::kIer, kIerTransmitEmpty);  // no change, nothing new
  EXPECT_EQ(guest.Cause(), kIirNonePending);
}

// Linux, autoconfig() and autoconfig_16550a().
TEST(Serial8250, IsIdentifiedAs16550A) {
  Guest8250 guest;
  guest.Out(UartRegister::kIer, 0);
  EXPECT_EQ(guest.In(UartRegister::kIer) & 0x0f, 0U);
  guest.Out(UartRegister::kIer, 0xff);
  EXPECT_EQ(guest.In(UartRegister::kIer), 0x0fU);  // bit 6 would be an XScale
  guest.Out(UartRegister::kIer, 0);

  guest.Out(UartRegister::kMcr, kMcrLoop | kMcrRts | kMcrOut2);
  EXPECT_EQ(guest.In(UartRegister::kMsr) & 0xf0, kMsrCts | kMsrDcd);
  guest.Out(UartRegister::kMcr, 0);

  guest.Out(UartRegister::kLcr, 0xbf);
  guest.Out(UartRegister::kIirFcr, 0);  // would be an enhanced chip's EFR
  EXPECT_EQ(guest.In(UartRegister::kIirFcr) >> 6, 0U);
  guest.Out(UartRegister::kLcr, 0);
  guest.Out(UartRegister::kIirFcr, kFcrEnable);
  EXPECT_EQ(guest.In(UartRegister::kIirFcr) >> 6, 3U);
  guest.Out(UartRegister::kLcr, kLcrDivisorLatchAccess);
  EXPECT_NE(guest.In(UartRegister::kIirFcr), 0U);          // 0 would be an ST16650
  guest.Out(UartRegister::kIirFcr, kFcrEnable | 1U << 5);  // the 16750's 64-byte FIFO
  EXPECT_EQ(guest.In(UartRegister::kIirFcr) >> 5, 6U);     // 7 would be one
  guest.Out(UartRegister::kLcr, 0);
  for (const unsigned value : {0x55U, 0xaaU}) {
    guest.Out(UartRegister::kScr, value);
    EXPECT_EQ(guest.In(UartRegister::kScr), value);
  }
}

TEST(Serial8250, DivisorLatchHidesDataAndInterruptEnable) {
  Guest8250 guest;
  guest.Out(UartRegister::kIer, kIerModemStatus);
  guest.Out(UartRegister::kLcr, kLcrDivisorLatchAccess | 3);
  guest.Out(UartRegister::kRbrThr, 0x0c);
  guest.Out(UartRegister::kIer, 0x01);
  EXPECT_EQ(guest.In(UartRegister::kRbrThr), 0x0cU);
  EXPECT_EQ(guest.In(UartRegister::kIer), 0x01U);
  guest.Out(UartRegister::kLcr, 3);
  EXPECT_EQ(guest.In(UartRegister::kIer), kIerModemStatus);
  EXPECT_EQ(guest.port.sent, "");
}

TEST(Serial8250, CausesComeByPriority) {
  Guest8250 guest;
  guest.Open();
  guest.Out(UartRegister::kIer, kIerDefined);
  guest.Out(UartRegister::kMcr, kMcrLoop);  // CTS, DSR and DCD fall; the line is cut
  for (unsigned i = 0; i <= kUartFifoBytes; ++i) guest.Out(UartRegister::kRbrThr, i);
  EXPECT_EQ(guest.Cause(), kIirLineStatus);
  EXPECT_TRUE(guest.In(UartRegister::kLsr) & kLsrOverrun);
  EXPECT_FALSE(guest.In(UartRegister::kLsr) & kLsrOverrun);
  for (unsigned i = 0; i < kUartFifoBytes; ++i) {
    EXPECT_EQ(guest.Cause(), kUartFifoBytes - i >= 8 ? kIirReceivedData : kIirCharacterTimeout);
    EXPECT_EQ(guest.In(UartRegister::kRbrThr), i);
  }
  EXPECT_EQ(guest.Cause(), kIirTransmitEmpty);
  EXPECT_EQ(guest.Cause(), kIirModemStatus);
  EXPECT_TRUE(guest.irq.high);
  EXPECT_EQ(guest.In(UartRegister::kMsr), (kMsrCts | kMsrDsr | kMsrDcd) >> kMsrDeltaShift);
  EXPECT_EQ(guest.Cause(), kIirNonePending);
  EXPECT_FALSE(guest.irq.high);
  EXPECT_EQ(guest.port.sent, "");
}

TEST(Serial8250, RingTellsOnlyItsTrailingEdge) {
  Guest8250 guest;
  guest.Out(UartRegister::kMcr, kMcrLoop);
  guest.In(UartRegister::kMsr);
  guest.Out(UartRegister::kMcr, kMcrLoop | kMcrOut1);
  EXPECT_EQ(guest.In(UartRegister::kMsr), kMsrRi);
  guest.Out(UartRegister::kMcr, kMcrLoop);
  EXPECT_EQ(guest.In(UartRegister::kMsr), kMsrTrailingEdgeRi);
}

TEST(Serial8250, InputWaitsUntilTheGuestIsReady) {
  Guest8250 guest;
  guest.port.Deliver("early");
  guest.Out(UartRegister::kIirFcr, kFcrEnable | kFcrResetReceiver);
  EXPECT_FALSE(guest.In(UartRegister::kLsr) & kLsrDataReady);
  guest.Open();
  ASSERT_TRUE(guest.port.DeliverRequested());
  EXPECT_TRUE(guest.irq.high);
  EXPECT_EQ(guest.HandleReceive(), "early");
  EXPECT_FALSE(guest.irq.high);

  guest.Out(UartRegister::kMcr, kMcrDtr | kMcrOut2);  // RTS down: stop
  guest.port.Deliver("later");
  EXPECT_EQ(guest.HandleReceive(), "");
  guest.Out(UartRegister::kMcr, kMcrDtr | kMcrRts | kMcrOut2);
  ASSERT_TRUE(guest.port.DeliverRequested());
  EXPECT_EQ(guest.HandleReceive(), "later");
}

TEST(Serial8250, AGuestThatNeverUsesRtsGetsInputToo) {
  Guest8250 guest;
  guest.Out(UartRegister::kMcr, 0);
  guest.Out(UartRegister::kIer, kIerReceivedData);
  guest.port.Deliver("ab");
  EXPECT_EQ(guest.Cause(), kIirReceivedData);  // no FIFO: one byte at a time
  EXPECT_EQ(guest.In(UartRegister::kRbrThr), 'a');
  ASSERT_TRUE(guest.port.DeliverRequested());
  EXPECT_EQ(guest.In(UartRegister::kRbrThr), 'b');
}

TEST(Serial8250, PastedInputArrivesCompleteWithAnEdgePerFilling) {
  std::string pasted;
  for (int i = 0; pasted.size() < 100'000; ++i) pasted += "line " + std::to_string(i) + "\n";
  Guest8250 guest;
  guest.Open();
  guest.port.Deliver(pasted);
  std::string got;
  int fillings = 0;
  do {
    ++fillings;
    ASSERT_TRUE(guest.irq.high);
    got += guest.HandleReceive();
    ASSERT_FALSE(guest.irq.high);
    ASSERT_EQ(guest.irq.edges, fillings);
  } while (guest.port.DeliverRequested());
  EXPECT_EQ(got, pasted);
}

TEST(Serial8250, TheTransmitterIsReportedEmptyOnlyAfterTheByteWasSent) {
  Guest8250 guest;
  guest.Out(UartRegister::kIer, kIerTransmitEmpty);
  EXPECT_EQ(guest.Cause(), kIirTransmitEmpty);
  bool high_while_sending = true;
  guest.port.on_send = [&] { high_while_sending = guest.irq.high; };
  guest.Out(UartRegister::kRbrThr, 'x');
  EXPECT_FALSE(high_while_sending);
  EXPECT_TRUE(guest.irq.high);
}

TEST(Serial8250, OddAccessesAreHarmless) {
  Guest8250 guest;
  std::array<std::byte, 4> data{};
  guest.uart.Write(0, data);
  guest.uart.Write(8, std::span(data).first(1));
  EXPECT_EQ(guest.port.sent, "");
  guest.uart.Read(0, std::span(data).first(2));
  EXPECT_EQ(data[1], std::byte{0xff});
  guest.uart.Read(~uint64_t{0}, std::span(data).first(1));
  EXPECT_EQ(data[0], std::byte{0xff});
  for (unsigned i = 0; i < 100; ++i) guest.In(UartRegister::kRbrThr);  // an empty FIFO
}

TEST(Serial8250, EveryWriteAndReadSequenceKeepsTheLineTrue) {
  Guest8250 guest;
  uint32_t state = 12345;
  for (int i = 0; i < 200'000; ++i) {
    state = state * 1664525 + 1013904223;
    const auto which = static_cast<UartRegister>((state >> 8) % kUartPorts);
    if (state >> 31) {
      guest.Out(which, (state >> 16) & 0xff);
    } else {
      guest.In(which);
    }
    if ((state & 0xff) == 0) guest.port.Deliver("some input");
    const bool high = guest.irq.high;  // before the read acknowledges
    ASSERT_EQ(high, guest.Cause() != kIirNonePending) << i;
    guest.port.sent.clear();
  }
}

TEST(Serial8250, GuestAndHostThreadsMeet) {
  FakeIrq irq;
  FakePort port;  // its input is only touched under the device's lock, by Receive()
  Serial8250 uart(irq, port);
  port.input.assign(100'000, 'x');
  std::atomic<bool> stop{false};
  std::thread host([&] {
    while (!stop) {
      port.callback();
      std::this_thread::sleep_for(std::chrono::microseconds(50));
    }
  });
  const std::byte rts{kMcrRts};
  uart.Write(4, std::span(&rts, 1));
  size_t got = 0;
  while (got < 1000) {
    std::byte byte{};
    uart.Read(5, std::span(&byte, 1));
    if ((byte & std::byte{kLsrDataReady}) == std::byte{}) continue;
    uart.Read(0, std::span(&byte, 1));
    ASSERT_EQ(byte, std::byte{'x'});
    ++got;
  }
  stop = true;
  host.join();
}

}  // namespace
}  // namespace skiff
