#pragma once

#include <cstdint>

#include "base/result.h"
#include "base/unique_fd.h"

namespace skiff {

// A Linux eventfd in counter mode, non-blocking: a wake-up that any thread may send and that an
// EventLoop, KVM (irqfd, ioeventfd) or poll() can wait for. Thread-safe.
class EventFd {
 public:
  static Result<EventFd> Make();

  int fd() const { return fd_.get(); }

  // Adds 1 to the counter; never blocks, never fails (a full counter is as good as a set one).
  void Signal() const;
  // Takes the counter back to 0; false if it was 0 already.
  bool Drain() const;

 private:
  explicit EventFd(UniqueFd fd) : fd_(std::move(fd)) {}
  UniqueFd fd_;
};

}  // namespace skiff
