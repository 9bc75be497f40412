#include "vmm/console/console.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <chrono>
#include <fstream>
#include <sstream>
#include <string>
#include <thread>

#include "base/unique_fd.h"
#include "devices/legacy/serial_8250.h"
#include "vmm/console/input_reader.h"

namespace skiff {
namespace {

using namespace std::chrono_literals;

std::string TemporaryPath(const std::string& name) { return testing::TempDir() + "/" + name; }

void Send(CharacterPort& port, std::string_view text) { port.Send(std::as_bytes(std::span(text))); }

std::string Contents(const std::string& path) {
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

TEST(Console, AFileIsEmptiedAndThenGetsTheOutput) {
  const std::string path = TemporaryPath("console.log");
  std::ofstream(path) << std::string(1000, 'o');
  auto console = Console::Open({ConsoleMode::kFile, path}, {}).value();
  Send(console->port(), "first line\r\nKernel panic\r\n");
  EXPECT_EQ(console->LastLines(), "first line\nKernel panic\n");
  console->Finish();
  EXPECT_EQ(Contents(path), "first line\r\nKernel panic\r\n");
  EXPECT_EQ(console->lost_bytes(), 0U);
}

TEST(Console, OffKeepsTheLastLines) {
  auto console = Console::Open({ConsoleMode::kOff, ""}, {}).value();
  Send(console->port(), "only kept\n");
  std::array<std::byte, 4> bytes{};
  EXPECT_EQ(console->port().Receive(bytes), 0U);
  console->port().OnReadable([] {});
  console->port().RequestCallback();
  console->port().OnReadable({});
  console->Finish();
  EXPECT_EQ(console->LastLines(), "only kept\n");
}

TEST(Console, AFileThatCannotBeOpenedIsNamed) {
  const std::string path = TemporaryPath("missing/console.log");
  auto console = Console::Open({ConsoleMode::kFile, path}, {});
  ASSERT_FALSE(console.ok());
  EXPECT_NE(console.error().message().find(path), std::string::npos);
  EXPECT_EQ(console.error().os_error(), ENOENT);
}

TEST(Console, AFifoWithoutAReaderIsAnErrorInsteadOfAHang) {
  const std::string path = TemporaryPath("fifo");
  unlink(path.c_str());
  ASSERT_EQ(mkfifo(path.c_str(), 0600), 0);
  EXPECT_FALSE(Console::Open({ConsoleMode::kFile, path}, {}).ok());
}

TEST(Console, AFullDeviceIsALossNotAnEnd) {
  auto console = Console::Open({ConsoleMode::kFile, "/dev/full"}, {}).value();
  Send(console->port(), "12345");
  console->Finish();
  EXPECT_EQ(console->lost_bytes(), 5U);
}

// --- input that is not a terminal ---

struct Pipe {
  Pipe() {
    std::array<int, 2> ends{};
    EXPECT_EQ(pipe2(ends.data(), O_CLOEXEC), 0);
    reader = UniqueFd(ends[0]);
    writer = UniqueFd(ends[1]);
  }
  UniqueFd reader;
  UniqueFd writer;
};

// Lets InputReader be a CharacterPort.
class InputPort final : public CharacterPort {
 public:
  explicit InputPort(InputReader& input) : input_(input) {}
  void Send(std::span<const std::byte>) override {}
  size_t Receive(std::span<std::byte> bytes) override { return input_.Receive(bytes); }
  void OnReadable(std::function<void()> callback) override {
    input_.OnReadable(std::move(callback));
  }
  void RequestCallback() override { input_.RequestCallback(); }

 private:
  InputReader& input_;
};

class FakeIrq final : public IrqLine {
 public:
  void Raise() override { high.store(true); }
  void Lower() override { high.store(false); }
  std::atomic<bool> high{false};
};

uint8_t In(BusDevice& device, UartRegister which) {
  std::byte byte{};
  device.Read(static_cast<uint64_t>(which), std::span(&byte, 1));
  return std::to_integer<uint8_t>(byte);
}
void Out(BusDevice& device, UartRegister which, unsigned value) {
  const std::byte byte{static_cast<uint8_t>(value)};
  device.Write(static_cast<uint64_t>(which), std::span(&byte, 1));
}

// A guest with an interrupt-driven driver, which takes `count` bytes.
std::string ReceiveAsGuest(Serial8250& uart, const FakeIrq& irq, size_t count) {
  Out(uart, UartRegister::kIirFcr, kFcrEnable | 2U << kFcrTriggerShift);
  Out(uart, UartRegister::kIer, kIerReceivedData);
  Out(uart, UartRegister::kMcr, kMcrDtr | kMcrRts | kMcrOut2);
  std::string got;
  const auto deadline = std::chrono::steady_clock::now() + 100s;
  while (got.size() < count && std::chrono::steady_clock::now() < deadline) {
    if (!irq.high.load()) {
      std::this_thread::sleep_for(100us);
      continue;
    }
    while (In(uart, UartRegister::kLsr) & kLsrDataReady)
      got.push_back(static_cast<char>(In(uart, UartRegister::kRbrThr)));
  }
  return got;
}

TEST(InputReader, AHundredKilobytesThroughTheUartArriveComplete) {
  std::string pasted;
  for (int i = 0; pasted.size() < 100'000; ++i) pasted += std::to_string(i) + " \x01x\n";
  Pipe pipe;
  auto input = InputReader::Start(pipe.reader.get(), nullptr, [](EscapeCommand) {
                 ADD_FAILURE() << "escape commands are for terminals";
               }).value();
  InputPort port(*input);
  FakeIrq irq;
  Serial8250 uart(irq, port);
  std::thread writer([&] {
    for (size_t at = 0; at < pasted.size(); at += 1000) {
      const std::string piece = pasted.substr(at, 1000);
      EXPECT_EQ(write(pipe.writer.get(), piece.data(), piece.size()),
                static_cast<ssize_t>(piece.size()));
    }
    pipe.writer.Reset();
  });
  const std::string got = ReceiveAsGuest(uart, irq, pasted.size());
  EXPECT_EQ(got.size(), pasted.size());
  EXPECT_EQ(got, pasted);
  writer.join();
}

TEST(InputReader, LeavesInAPipeWhatTheGuestDoesNotTake) {
  Pipe pipe;
  fcntl(pipe.reader.get(), F_SETPIPE_SZ, 65536);
  const std::string text(20'000, 'x');
  ASSERT_EQ(write(pipe.writer.get(), text.data(), text.size()), 20'000);
  {
    auto input = InputReader::Start(pipe.reader.get(), nullptr, {}).value();
    std::atomic<bool> called{false};
    input->OnReadable([&called] { called.store(true); });
    input->RequestCallback();
    for (int i = 0; i < 100 && !called.load(); ++i) std::this_thread::sleep_for(10ms);
    input->OnReadable({});
  }
  fcntl(pipe.reader.get(), F_SETFL, O_NONBLOCK);
  std::string rest(text.size(), 0);
  EXPECT_GE(read(pipe.reader.get(), rest.data(), rest.size()), 20'000 - 4096);
}

TEST(InputReader, TheEndOfInputCostsNoCpuAndStopsNothing) {
  Pipe pipe;
  ASSERT_EQ(write(pipe.writer.get(), "ab", 2), 2);
  pipe.writer.Reset();
  auto input = InputReader::Start(pipe.reader.get(), nullptr, {}).value();
  std::string got;
  const auto read_some = [&] {
    std::array<std::byte, 16> bytes{};
    const size_t count = input->Receive(bytes);
    for (size_t i = 0; i < count; ++i) got.push_back(static_cast<char>(bytes[i]));
  };
  for (int i = 0; i < 500 && got.size() < 2; ++i) {
    read_some();
    std::this_thread::sleep_for(10ms);
  }
  EXPECT_EQ(got, "ab");
  const auto cpu_before = clock();
  std::this_thread::sleep_for(300ms);
  EXPECT_LT(clock() - cpu_before, CLOCKS_PER_SEC / 10);
}

}  // namespace
}  // namespace skiff
