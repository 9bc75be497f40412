#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>

#if defined(__clang__)
#define SKIFF_TSA(x) __attribute__((x))
#else
#define SKIFF_TSA(x)
#endif

#define GUARDED_BY(m) SKIFF_TSA(guarded_by(m))
#define REQUIRES(...) SKIFF_TSA(requires_capability(__VA_ARGS__))
#define EXCLUDES(...) SKIFF_TSA(locks_excluded(__VA_ARGS__))
#define NO_THREAD_SAFETY_ANALYSIS SKIFF_TSA(no_thread_safety_analysis)

namespace skiff {

// std::mutex that clang's -Wthread-safety understands (libstdc++'s is unannotated).
class SKIFF_TSA(capability("mutex")) Mutex {
 public:
  void Lock() SKIFF_TSA(acquire_capability()) { mutex_.lock(); }
  void Unlock() SKIFF_TSA(release_capability()) { mutex_.unlock(); }

 private:
  friend class CondVar;
  std::mutex mutex_;
};

class SKIFF_TSA(scoped_lockable) MutexLock {
 public:
  explicit MutexLock(Mutex& mutex) SKIFF_TSA(acquire_capability(mutex)) : mutex_(mutex) {
    mutex_.Lock();
  }
  ~MutexLock() SKIFF_TSA(release_capability()) { mutex_.Unlock(); }
  MutexLock(const MutexLock&) = delete;
  MutexLock& operator=(const MutexLock&) = delete;

 private:
  Mutex& mutex_;
};

// A condition variable over Mutex. Wakes may be spurious: wait in a loop over the condition.
class CondVar {
 public:
  void Wait(Mutex& mutex) REQUIRES(mutex) {
    std::unique_lock<std::mutex> lock(mutex.mutex_, std::adopt_lock);
    condition_.wait(lock);
    lock.release();
  }

  // False when the deadline passed without a wake.
  bool WaitUntil(Mutex& mutex, std::chrono::steady_clock::time_point deadline) REQUIRES(mutex) {
    std::unique_lock<std::mutex> lock(mutex.mutex_, std::adopt_lock);
    const bool woken = condition_.wait_until(lock, deadline) == std::cv_status::no_timeout;
    lock.release();
    return woken;
  }

  void NotifyOne() { condition_.notify_one(); }
  void NotifyAll() { condition_.notify_all(); }

 private:
  std::condition_variable condition_;
};

}  // namespace skiff
