#pragma once

#include <cstdint>
#include <functional>

#include "base/mutex.h"
#include "base/result.h"

namespace skiff {

// fdatasync(2) for many threads. At most one call runs at a time, and all who asked while it ran
// share the next one, which covers what each of them had written.
//
// The first failure is final: Linux reports a lost page once, to whoever asks first, and then
// forgets it, so a later success would promise durability that is not there. One call at a time
// also keeps another thread from being told "durable" between that report and our noting it.
class GroupSync {
 public:
  // `sync` returns 0 or an errno.
  explicit GroupSync(std::function<int()> sync) : sync_(std::move(sync)) {}

  Result<void> Run() EXCLUDES(mutex_);

 private:
  void RunOneLocked() REQUIRES(mutex_);

  const std::function<int()> sync_;
  Mutex mutex_;
  CondVar finished_;
  uint64_t started_ GUARDED_BY(mutex_) = 0;    // calls begun
  uint64_t succeeded_ GUARDED_BY(mutex_) = 0;  // the last one that succeeded
  bool running_ GUARDED_BY(mutex_) = false;
  int failure_ GUARDED_BY(mutex_) = 0;  // errno of the first failure
};

}  // namespace skiff
