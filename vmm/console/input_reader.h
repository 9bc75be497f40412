#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "base/event_fd.h"
#include "base/mutex.h"
#include "base/result.h"
#include "vmm/console/escape_filter.h"
#include "vmm/console/interruptible_thread.h"
#include "vmm/console/terminal.h"

namespace skiff {

// Reads a descriptor on a thread of its own and keeps what came until a device takes it. From a
// pipe or a file it reads on only when the device has taken what there was. A terminal is read on
// regardless, so that Ctrl-A x works when the guest does not; what a dead guest lets pile up beyond
// 1 MiB is dropped. The end of the input is just that.
//
// Receive(), OnReadable() and RequestCallback() are those of CharacterPort. The descriptor and the
// terminal must outlive the object.
class InputReader {
 public:
  // `terminal` is the descriptor's, null if it is none: then there are no escape commands.
  // `on_command` is called on the reading thread.
  static Result<std::unique_ptr<InputReader>> Start(int fd, Terminal* terminal,
                                                    std::function<void(EscapeCommand)> on_command);
  ~InputReader() { Stop(); }

  size_t Receive(std::span<std::byte> bytes) EXCLUDES(mutex_);
  void OnReadable(std::function<void()> callback) EXCLUDES(callback_mutex_);
  void RequestCallback() EXCLUDES(mutex_);

  // No callback and no command comes after it.
  void Stop() EXCLUDES(mutex_);

 private:
  using Clock = std::chrono::steady_clock;

  InputReader(int fd, Terminal* terminal, EventFd wake,
              std::function<void(EscapeCommand)> on_command);
  void Run() EXCLUDES(mutex_);  // the reading thread
  bool MayRead() EXCLUDES(mutex_);
  bool WaitForInput(bool may_read) EXCLUDES(mutex_);
  std::optional<std::chrono::nanoseconds> Patience() const EXCLUDES(mutex_);
  void ReadSome() EXCLUDES(mutex_);
  void Keep(std::span<const char> keys) EXCLUDES(mutex_);
  void CallBackIfDue() EXCLUDES(mutex_, callback_mutex_);
  bool stopping() const EXCLUDES(mutex_);

  const int fd_;
  Terminal* const terminal_;
  const EventFd wake_;
  const std::function<void(EscapeCommand)> on_command_;

  // Of the reading thread alone.
  EscapeFilter escapes_;
  bool at_end_ = false;
  bool foreground_ = true;

  mutable Mutex mutex_;
  std::string pending_ GUARDED_BY(mutex_);
  size_t taken_ GUARDED_BY(mutex_) = 0;  // bytes of pending_ that are gone already
  std::optional<Clock::time_point> callback_due_ GUARDED_BY(mutex_);
  bool stopping_ GUARDED_BY(mutex_) = false;

  Mutex callback_mutex_;  // held during a callback; taken before mutex_
  std::function<void()> callback_ GUARDED_BY(callback_mutex_);

  std::optional<InterruptibleThread> thread_;
};

}  // namespace skiff
