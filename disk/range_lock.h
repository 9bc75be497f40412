#pragma once

#include "base/mutex.h"
#include "base/position.h"

namespace skiff {

// Locks parts of a file among the threads of one process. First come, first served: nobody starves
// behind a stream of others.
class RangeLock {
 public:
  enum class Mode : uint8_t { kShared, kExclusive };

  // Holds a range from construction, which waits, to destruction.
  class Hold {
   public:
    Hold(RangeLock& lock, FileRange range, Mode mode) EXCLUDES(lock.mutex_);
    ~Hold();
    Hold(const Hold&) = delete;
    Hold& operator=(const Hold&) = delete;

   private:
    friend class RangeLock;
    RangeLock& lock_;
    const FileRange range_;
    const Mode mode_;
    Hold* earlier_ = nullptr;  // both guarded by lock_.mutex_
    Hold* later_ = nullptr;
  };

 private:
  bool MustWaitLocked(const Hold& hold) const REQUIRES(mutex_);

  Mutex mutex_;
  CondVar released_;
  Hold* last_ GUARDED_BY(mutex_) = nullptr;  // holders and waiters in order of arrival
};

}  // namespace skiff
