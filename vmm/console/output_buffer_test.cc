#include "vmm/console/output_buffer.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <pty.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <string>
#include <thread>

#include "base/unique_fd.h"

namespace skiff {
namespace {

using Clock = std::chrono::steady_clock;
using namespace std::chrono_literals;

constexpr OutputBuffer::Limits kQuick{
    .capacity = 64 << 10, .append_patience = 50ms, .finish_patience = 200ms};

// For tests that must lose nothing, also on a loaded machine.
constexpr OutputBuffer::Limits kPatient{
    .capacity = 8192, .append_patience = 5s, .finish_patience = 5s};

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

void Append(OutputBuffer& buffer, std::string_view text) {
  buffer.Append(std::as_bytes(std::span(text)));
}

std::string Numbers(size_t bytes) {
  std::string text;
  for (int i = 0; text.size() < bytes; ++i) text += std::to_string(i) + "\n";
  return text;
}

std::string ReadAll(int fd) {
  std::string all;
  std::array<char, 4096> piece{};
  for (ssize_t count; (count = read(fd, piece.data(), piece.size())) > 0;)
    all.append(piece.data(), static_cast<size_t>(count));
  return all;
}

TEST(OutputBuffer, WritesEverythingInOrder) {
  Pipe pipe;
  const std::string text = Numbers(1 << 20);
  std::string got;
  std::thread reader([&] { got = ReadAll(pipe.reader.get()); });
  auto buffer = OutputBuffer::Start(pipe.writer.get(), kPatient).value();
  for (size_t at = 0; at < text.size(); at += 1000)
    Append(*buffer, std::string_view(text).substr(at, 1000));
  buffer->Finish();
  pipe.writer.Reset();
  reader.join();
  EXPECT_EQ(got, text);
  EXPECT_EQ(buffer->lost_bytes(), 0U);
}

TEST(OutputBuffer, AReaderThatIsOnlySlowLosesNothing) {
  Pipe pipe;
  fcntl(pipe.writer.get(), F_SETPIPE_SZ, 4096);
  const std::string text = Numbers(100'000);
  std::string got;
  std::thread reader([&] {
    std::array<char, 4096> piece{};
    for (ssize_t count; (count = read(pipe.reader.get(), piece.data(), piece.size())) > 0;) {
      got.append(piece.data(), static_cast<size_t>(count));
      std::this_thread::sleep_for(10ms);
    }
  });
  auto buffer = OutputBuffer::Start(pipe.writer.get(), kPatient).value();
  Append(*buffer, text);
  buffer->Finish();
  pipe.writer.Reset();
  reader.join();
  EXPECT_EQ(got, text);
  EXPECT_EQ(buffer->lost_bytes(), 0U);
}

TEST(OutputBuffer, NobodyReads_TheGuestGoesOnAndEveryLostByteIsCounted) {
  Pipe pipe;
  const std::string text = Numbers(1 << 20);
  const Clock::time_point start = Clock::now();
  auto buffer = OutputBuffer::Start(pipe.writer.get(), kQuick).value();
  for (const char& c : text) Append(*buffer, {&c, 1});
  buffer->Finish();
  EXPECT_LT(Clock::now() - start, 5s);
  pipe.writer.Reset();
  const std::string got = ReadAll(pipe.reader.get());
  EXPECT_TRUE(text.starts_with(got));
  EXPECT_EQ(got.size() + buffer->lost_bytes(), text.size());
  EXPECT_GT(buffer->lost_bytes(), 0U);
}

TEST(OutputBuffer, GoesOnWhenTheReaderDoes) {
  Pipe pipe;
  OutputBuffer::Limits limits = kPatient;
  limits.append_patience = 500ms;
  auto buffer = OutputBuffer::Start(pipe.writer.get(), limits).value();
  Append(*buffer, std::string(1 << 20, 'x'));
  const uint64_t lost = buffer->lost_bytes();
  EXPECT_GT(lost, 0U);
  std::string got;
  std::thread reader([&] { got = ReadAll(pipe.reader.get()); });
  std::this_thread::sleep_for(300ms);
  Append(*buffer, "back again");
  buffer->Finish();
  pipe.writer.Reset();
  reader.join();
  EXPECT_EQ(buffer->lost_bytes(), lost);
  EXPECT_TRUE(got.ends_with("xback again"));
}

TEST(OutputBuffer, AClosedReaderIsNotAnErrorButALoss) {
  signal(SIGPIPE, SIG_IGN);
  Pipe pipe;
  pipe.reader.Reset();
  auto buffer = OutputBuffer::Start(pipe.writer.get(), kQuick).value();
  const Clock::time_point start = Clock::now();
  for (int i = 0; i < 1000; ++i) Append(*buffer, std::string(1000, 'x'));
  buffer->Finish();
  EXPECT_LT(Clock::now() - start, 2s);
  EXPECT_EQ(buffer->lost_bytes(), 1'000'000U);
}

TEST(OutputBuffer, AStalledTerminalDoesNotHoldFinishUp) {
  int controller = -1;
  int terminal = -1;
  ASSERT_EQ(openpty(&controller, &terminal, nullptr, nullptr, nullptr), 0);
  const UniqueFd a(controller);
  const UniqueFd b(terminal);
  auto buffer = OutputBuffer::Start(terminal, kQuick).value();
  Append(*buffer, std::string(50'000, 'x'));
  const Clock::time_point start = Clock::now();
  buffer->Finish();  // although the writer sits in write(2)
  EXPECT_LT(Clock::now() - start, 3s);
  EXPECT_GT(buffer->lost_bytes(), 0U);
}

TEST(OutputBuffer, CopesWithADescriptorThatOthersMadeNonBlocking) {
  std::array<int, 2> ends{};
  ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends.data()), 0);
  const UniqueFd ours(ends[0]);
  const UniqueFd theirs(ends[1]);
  fcntl(theirs.get(), F_SETFL, 0);
  auto buffer = OutputBuffer::Start(ours.get(), kPatient).value();
  const std::string text = Numbers(500'000);
  std::string got;
  std::thread reader([&] { got = ReadAll(theirs.get()); });
  for (size_t at = 0; at < text.size(); at += 1000)
    Append(*buffer, std::string_view(text).substr(at, 1000));
  buffer->Finish();
  shutdown(ours.get(), SHUT_WR);
  reader.join();
  EXPECT_EQ(got.size() + buffer->lost_bytes(), text.size());
  EXPECT_EQ(buffer->lost_bytes(), 0U);
}

TEST(OutputBuffer, AppendAfterFinishIsALoss) {
  Pipe pipe;
  auto buffer = OutputBuffer::Start(pipe.writer.get(), kQuick).value();
  buffer->Finish();
  Append(*buffer, "late");
  buffer->Finish();
  EXPECT_EQ(buffer->lost_bytes(), 4U);
}

}  // namespace
}  // namespace skiff
