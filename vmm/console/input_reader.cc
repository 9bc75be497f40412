#include "vmm/console/input_reader.h"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <ctime>
#include <utility>

namespace skiff {
namespace {

constexpr size_t kReadBytes = 4096;
constexpr size_t kTerminalBytes = size_t{1} << 20;

// How long a guest that emptied its FIFO is left alone before more comes.
constexpr std::chrono::microseconds kPause{500};

// Nobody tells a job in the background when it comes back to the foreground while running.
constexpr std::chrono::milliseconds kForegroundCheck{500};

timespec ToTimespec(std::chrono::nanoseconds time) {
  const auto seconds = std::chrono::floor<std::chrono::seconds>(time);
  return {.tv_sec = seconds.count(), .tv_nsec = (time - seconds).count()};
}

}  // namespace

InputReader::InputReader(int fd, Terminal* terminal, EventFd wake,
                         std::function<void(EscapeCommand)> on_command)
    : fd_(fd), terminal_(terminal), wake_(std::move(wake)), on_command_(std::move(on_command)) {}

Result<std::unique_ptr<InputReader>> InputReader::Start(
    int fd, Terminal* terminal, std::function<void(EscapeCommand)> on_command) {
  EventFd wake = TRY(EventFd::Make());
  std::unique_ptr<InputReader> reader(
      new InputReader(fd, terminal, std::move(wake), std::move(on_command)));
  InputReader& reference = *reader;
  InterruptibleThread thread =
      TRY(InterruptibleThread::Start("console-in", [&reference] { reference.Run(); }));
  reader->thread_.emplace(std::move(thread));
  return reader;
}

size_t InputReader::Receive(std::span<std::byte> bytes) {
  MutexLock lock(mutex_);
  const size_t count = std::min(bytes.size(), pending_.size() - taken_);
  std::memcpy(bytes.data(), pending_.data() + taken_, count);
  taken_ += count;
  if (count != 0 && taken_ == pending_.size()) {
    pending_.clear();
    taken_ = 0;
    wake_.Signal();  // there is room again
  }
  return count;
}

void InputReader::OnReadable(std::function<void()> callback) {
  MutexLock lock(callback_mutex_);
  callback_ = std::move(callback);
}

void InputReader::RequestCallback() {
  MutexLock lock(mutex_);
  if (pending_.empty() || callback_due_) return;  // new input calls back by itself
  callback_due_ = Clock::now() + kPause;
  wake_.Signal();
}

void InputReader::Stop() {
  {
    MutexLock lock(mutex_);
    stopping_ = true;
  }
  wake_.Signal();
  if (thread_) thread_->Join();
}

void InputReader::Run() {
  while (!stopping()) {
    if (WaitForInput(MayRead())) ReadSome();
    CallBackIfDue();
  }
}

// Whether the descriptor is worth waiting for.
bool InputReader::MayRead() {
  if (at_end_) return false;
  if (!terminal_) {
    MutexLock lock(mutex_);
    return pending_.empty();
  }
  const bool foreground = terminal_->InForeground();
  if (foreground && !foreground_) terminal_->EnterRaw();
  foreground_ = foreground;
  return foreground;
}

bool InputReader::WaitForInput(bool may_read) {
  std::array<pollfd, 2> entries = {{{may_read ? fd_ : -1, POLLIN, 0}, {wake_.fd(), POLLIN, 0}}};
  const auto patience = Patience();
  const timespec timeout = ToTimespec(patience.value_or(std::chrono::nanoseconds(0)));
  if (ppoll(entries.data(), entries.size(), patience ? &timeout : nullptr, nullptr) <= 0)
    return false;
  wake_.Drain();
  return entries[0].revents != 0;
}

std::optional<std::chrono::nanoseconds> InputReader::Patience() const {
  std::optional<std::chrono::nanoseconds> patience;
  if (!foreground_) patience = kForegroundCheck;
  MutexLock lock(mutex_);
  if (callback_due_) {
    const std::chrono::nanoseconds rest = *callback_due_ - Clock::now();
    patience = std::clamp(rest, std::chrono::nanoseconds(0),
                          patience.value_or(std::chrono::nanoseconds::max()));
  }
  return patience;
}

void InputReader::ReadSome() {
  std::array<char, kReadBytes> keys;
  const ssize_t count = read(fd_, keys.data(), keys.size());
  if (count > 0) return Keep(std::span(keys).first(static_cast<size_t>(count)));
  if (count < 0 && (errno == EINTR || errno == EAGAIN)) return;
  // EIO also comes when we went to the background since we looked.
  if (count < 0 && terminal_ && !terminal_->InForeground()) return;
  at_end_ = true;
}

void InputReader::Keep(std::span<const char> keys) {
  std::string for_guest;
  if (terminal_) {
    for (const char key : keys) {
      const EscapeCommand command = escapes_.Feed(key, for_guest);
      if (command != EscapeCommand::kNone) on_command_(command);
    }
  } else {
    for_guest.assign(keys.begin(), keys.end());
  }
  if (for_guest.empty()) return;
  MutexLock lock(mutex_);
  pending_.erase(0, std::exchange(taken_, 0));
  if (pending_.size() + for_guest.size() > kTerminalBytes) return;
  pending_ += for_guest;
  callback_due_ = Clock::now();
}

void InputReader::CallBackIfDue() {
  {
    MutexLock lock(mutex_);
    if (!callback_due_ || *callback_due_ > Clock::now()) return;
    callback_due_.reset();
  }
  MutexLock lock(callback_mutex_);
  if (callback_) callback_();
}

bool InputReader::stopping() const {
  MutexLock lock(mutex_);
  return stopping_;
}

}  // namespace skiff
