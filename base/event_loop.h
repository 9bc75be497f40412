#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>

#include "base/event_fd.h"
#include "base/result.h"
#include "base/unique_fd.h"

namespace skiff {

// An epoll loop that calls back when a descriptor is readable or a point in time has come.
// One thread owns it: Run(), Watch(), Unwatch() and SetTimer() are called from that thread, or
// before Run() starts. Only Stop() may come from any thread.
class EventLoop {
 public:
  using Callback = std::function<void()>;
  using Clock = std::chrono::steady_clock;

  static Result<std::unique_ptr<EventLoop>> Make();

  // Calls `callback` while `fd` is readable (level-triggered), hung up or in error. The
  // descriptor stays the caller's and must outlive the watch. One watch per descriptor.
  Result<void> Watch(int fd, Callback callback);
  // No callback of `fd` runs after this returns. Safe inside a callback, its own too.
  void Unwatch(int fd);

  // Calls `callback` once at `when`. Timers are few (the list is walked).
  using TimerId = uint64_t;
  TimerId SetTimer(Clock::time_point when, Callback callback);
  void CancelTimer(TimerId id);

  // Dispatches until Stop(). Can be run again afterwards.
  void Run();
  // Makes Run() return after the callback in progress. Thread-safe and async-signal-safe.
  void Stop();

 private:
  EventLoop(UniqueFd epoll, EventFd wake) : epoll_(std::move(epoll)), wake_(std::move(wake)) {}
  int MillisecondsToNextTimer() const;
  void RunDueTimers();
  void Dispatch(int fd);

  struct Timer {
    Clock::time_point when;
    Callback callback;
  };

  UniqueFd epoll_;
  EventFd wake_;
  std::atomic<bool> stop_{false};
  // Shared so that a callback may remove itself while it runs.
  std::map<int, std::shared_ptr<Callback>> watches_;
  std::map<TimerId, Timer> timers_;
  TimerId next_timer_ = 1;
};

}  // namespace skiff
