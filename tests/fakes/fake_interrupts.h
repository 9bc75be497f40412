#pragma once

#include <chrono>
#include <cstdint>
#include <functional>

#include "base/mutex.h"
#include "devices/virtio/negotiation.h"

namespace skiff::fakes {

// Counts the interrupts that a device raises. Thread-safe.
class FakeInterrupts final : public virtio::Interrupts {
 public:
  void QueueInterrupt(uint16_t /*queue_index*/) override EXCLUDES(mutex_) { Count(queue_); }
  void ConfigInterrupt() override EXCLUDES(mutex_) { Count(config_); }

  uint64_t queue_interrupts() const EXCLUDES(mutex_) {
    MutexLock lock(mutex_);
    return queue_;
  }
  uint64_t config_interrupts() const EXCLUDES(mutex_) {
    MutexLock lock(mutex_);
    return config_;
  }

  // Waits until an interrupt of either kind has come since `seen`, which it brings up to date.
  // False after ten seconds.
  bool Wait(uint64_t& seen) EXCLUDES(mutex_) {
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(10);
    MutexLock lock(mutex_);
    while (queue_ + config_ == seen)
      if (!condition_.WaitUntil(mutex_, deadline)) return false;
    seen = queue_ + config_;
    return true;
  }

 private:
  void Count(uint64_t& counter) EXCLUDES(mutex_) {
    MutexLock lock(mutex_);
    ++counter;
    condition_.NotifyAll();
  }

  mutable Mutex mutex_;
  CondVar condition_;
  uint64_t queue_ = 0;
  uint64_t config_ = 0;
};

}  // namespace skiff::fakes
