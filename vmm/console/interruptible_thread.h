#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <string_view>
#include <utility>

#include "base/result.h"
#include "base/thread.h"

namespace skiff {

// A thread that sits in blocking reads or writes of descriptors that we share with other
// programs and so must not make non-blocking. Join() interrupts them: the call then fails with
// EINTR or comes back short, and the body has to look whether it is to end.
//
// Takes SIGURG for it, with a handler that does nothing (its default is to be ignored, so nobody
// is hurt who sends one).
class InterruptibleThread {
 public:
  static Result<InterruptibleThread> Start(std::string_view name, std::function<void()> body);

  InterruptibleThread(InterruptibleThread&&) noexcept = default;
  InterruptibleThread& operator=(InterruptibleThread&&) = delete;
  ~InterruptibleThread() { Join(); }

  // Told beforehand in a way of the caller's own, the body returns; a call in the kernel that
  // would keep it is interrupted, again and again until the body has seen it.
  void Join();

 private:
  struct Shared {
    std::atomic<bool> finished{false};
  };
  InterruptibleThread(std::shared_ptr<Shared> shared, Thread thread)
      : shared_(std::move(shared)), thread_(std::move(thread)) {}

  std::shared_ptr<Shared> shared_;  // null when joined or moved from
  Thread thread_;
};

}  // namespace skiff
