#include "base/event_loop.h"

#include <sys/epoll.h>

#include <algorithm>
#include <array>
#include <climits>

namespace skiff {

Result<std::unique_ptr<EventLoop>> EventLoop::Make() {
  UniqueFd epoll(epoll_create1(EPOLL_CLOEXEC));
  if (!epoll.valid()) return Error::FromErrno("epoll_create1");
  EventFd wake = TRY(EventFd::Make());
  std::unique_ptr<EventLoop> loop(new EventLoop(std::move(epoll), std::move(wake)));
  const EventFd& woken = loop->wake_;
  TRY(loop->Watch(woken.fd(), [&woken] { woken.Drain(); }));
  return loop;
}

Result<void> EventLoop::Watch(int fd, Callback callback) {
  epoll_event event{};
  event.events = EPOLLIN;
  event.data.fd = fd;
  if (epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, fd, &event) < 0)
    return Error::FromErrno("epoll_ctl(EPOLL_CTL_ADD)");
  watches_[fd] = std::make_shared<Callback>(std::move(callback));
  return {};
}

void EventLoop::Unwatch(int fd) {
  if (watches_.erase(fd) != 0) epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, fd, nullptr);
}

EventLoop::TimerId EventLoop::SetTimer(Clock::time_point when, Callback callback) {
  const TimerId id = next_timer_++;
  timers_.emplace(id, Timer{when, std::move(callback)});
  return id;
}

void EventLoop::CancelTimer(TimerId id) { timers_.erase(id); }

void EventLoop::Run() {
  while (!stop_.load(std::memory_order_acquire)) {
    std::array<epoll_event, 16> events;
    const int count = epoll_wait(epoll_.get(), events.data(), static_cast<int>(events.size()),
                                 MillisecondsToNextTimer());
    for (int i = 0; i < count && !stop_.load(std::memory_order_acquire); ++i)
      Dispatch(events[static_cast<size_t>(i)].data.fd);
    RunDueTimers();
  }
  stop_.store(false, std::memory_order_release);
}

void EventLoop::Stop() {
  stop_.store(true, std::memory_order_release);
  wake_.Signal();
}

int EventLoop::MillisecondsToNextTimer() const {
  if (timers_.empty()) return -1;
  Clock::time_point next = Clock::time_point::max();
  for (const auto& [id, timer] : timers_) next = std::min(next, timer.when);
  const auto wait = std::chrono::ceil<std::chrono::milliseconds>(next - Clock::now()).count();
  return static_cast<int>(std::clamp<int64_t>(wait, 0, INT_MAX));
}

void EventLoop::RunDueTimers() {
  const Clock::time_point now = Clock::now();
  // One at a time: a callback may set or cancel timers.
  while (!stop_.load(std::memory_order_acquire)) {
    const auto due = std::find_if(timers_.begin(), timers_.end(),
                                  [now](const auto& entry) { return entry.second.when <= now; });
    if (due == timers_.end()) return;
    const Callback callback = std::move(due->second.callback);
    timers_.erase(due);
    callback();
  }
}

void EventLoop::Dispatch(int fd) {
  const auto watch = watches_.find(fd);
  if (watch == watches_.end()) return;  // removed by an earlier callback of this round
  const std::shared_ptr<Callback> callback = watch->second;
  (*callback)();
}

}  // namespace skiff
