#pragma once

#include <optional>

#include "base/event_loop.h"
#include "base/mutex.h"
#include "vmm/outcome.h"

namespace skiff {

// Decides once why the run ends: the first reason wins and stops the main loop. Set() may be
// called from any thread; it never blocks.
class Ending {
 public:
  // `loop` is the one whose Run() the main thread sits in; it outlives this object.
  explicit Ending(EventLoop& loop) : loop_(loop) {}

  void Set(Outcome outcome) EXCLUDES(mutex_) {
    {
      MutexLock lock(mutex_);
      if (!outcome_) outcome_ = std::move(outcome);
    }
    loop_.Stop();
  }
  std::optional<Outcome> outcome() const EXCLUDES(mutex_) {
    MutexLock lock(mutex_);
    return outcome_;
  }
  // Before the guest starts anew.
  void Reset() EXCLUDES(mutex_) {
    MutexLock lock(mutex_);
    outcome_.reset();
  }

 private:
  EventLoop& loop_;
  mutable Mutex mutex_;
  std::optional<Outcome> outcome_ GUARDED_BY(mutex_);
};

}  // namespace skiff
