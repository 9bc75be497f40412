#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <cstring>

#include "base/arith.h"
#include "base/endian.h"
#include "base/event_loop.h"
#include "base/iovec_cursor.h"
#include "base/position.h"
#include "base/result.h"
#include "base/thread.h"

namespace skiff {
namespace {

Result<int> Half(int value) {
  if (value % 2 != 0) return Invalid("odd");
  return value / 2;
}

Result<int> Quarter(int value) {
  const int half = TRY(Half(value));
  return Half(half);
}

TEST(Result, TryPassesErrorsUp) {
  EXPECT_EQ(Quarter(8).value(), 2);
  EXPECT_EQ(Quarter(6).error().code(), ErrorCode::kInvalid);
  EXPECT_EQ(Half(1).error().message(), "odd");
}

TEST(Error, WhilePutsTheActionInFront) {
  const Error error = Error::FromErrno("open", ENOENT).While("opening disk.raw");
  EXPECT_EQ(error.message(), "opening disk.raw: open: No such file or directory");
  EXPECT_EQ(error.os_error(), ENOENT);
  EXPECT_EQ(Error::FromErrno("pwrite", ENOSPC).code(), ErrorCode::kNoSpace);
}

TEST(Endian, StoresTheSpecifiedOrder) {
  const Be32 big = 0x11223344;
  const Le32 little = 0x11223344;
  const std::array<uint8_t, 4> big_bytes = {0x11, 0x22, 0x33, 0x44};
  EXPECT_EQ(std::memcmp(&big, big_bytes.data(), 4), 0);
  EXPECT_EQ(uint32_t{little}, 0x11223344u);
}

TEST(Range, NeverWraps) {
  EXPECT_FALSE(DiskRange::Make(DiskOffset(UINT64_MAX), 2).ok());
  const DiskRange range = DiskRange::Make(DiskOffset(10), 5).value();
  EXPECT_EQ(range.Suffix(2).start().value(), 12u);
  EXPECT_TRUE(range.Suffix(9).empty());
  EXPECT_FALSE(range.Contains(DiskOffset(15)));
}

TEST(Arith, RoundsAndDetectsOverflow) {
  EXPECT_EQ(AlignUp(uint64_t{4097}, 4096), 8192u);
  EXPECT_EQ(DivideRoundingUp(uint32_t{9}, 4), 3u);
  EXPECT_FALSE(CheckedMultiply(UINT64_MAX, 2).has_value());
}

TEST(IovecCursor, WalksOverBuffersAndSkipsEmptyOnes) {
  std::array<char, 3> first = {'a', 'b', 'c'};
  std::array<char, 2> second = {'d', 'e'};
  const std::array<iovec, 3> list = {iovec{first.data(), 3}, iovec{nullptr, 0},
                                     iovec{second.data(), 2}};
  IovecCursor cursor(list);
  cursor.Skip(2);
  std::array<iovec, 4> pieces;
  ASSERT_EQ(cursor.Peek(100, pieces), 2u);
  EXPECT_EQ(pieces[1].iov_base, second.data());
  std::array<std::byte, 8> out;
  EXPECT_EQ(cursor.CopyOut(out), 3u);
  EXPECT_EQ(static_cast<char>(out[0]), 'c');
  EXPECT_EQ(cursor.remaining(), 0u);
}

TEST(EventLoop, RunsTimersInTimeAndStopsFromOutside) {
  const auto loop = std::move(EventLoop::Make()).value();
  int fired = 0;
  loop->SetTimer(EventLoop::Clock::now() + std::chrono::milliseconds(5), [&] {
    ++fired;
    loop->Stop();
  });
  loop->SetTimer(EventLoop::Clock::now() + std::chrono::hours(1), [&] { fired += 100; });
  loop->Run();
  EXPECT_EQ(fired, 1);
}

TEST(EventLoop, ACallbackMayRemoveItself) {
  const auto loop = std::move(EventLoop::Make()).value();
  const EventFd event = std::move(EventFd::Make()).value();
  int calls = 0;
  ASSERT_TRUE(loop->Watch(event.fd(),
                          [&] {
                            ++calls;
                            loop->Unwatch(event.fd());
                            loop->Stop();
                          })
                  .ok());
  event.Signal();
  loop->Run();
  loop->SetTimer(EventLoop::Clock::now(), [&] { loop->Stop(); });
  loop->Run();
  EXPECT_EQ(calls, 1);
}

TEST(EventLoop, CallbacksComeOnTheRunningThread) {
  const auto loop = std::move(EventLoop::Make()).value();
  const EventFd event = std::move(EventFd::Make()).value();
  std::atomic<int> calls{0};
  ASSERT_TRUE(loop->Watch(event.fd(),
                          [&] {
                            event.Drain();
                            ++calls;
                          })
                  .ok());
  {
    const Thread thread = Thread::Start("loop", [&] { loop->Run(); }).value();
    event.Signal();
    while (calls == 0) sched_yield();
    loop->Stop();
  }
  EXPECT_EQ(calls, 1);
}

}  // namespace
}  // namespace skiff
