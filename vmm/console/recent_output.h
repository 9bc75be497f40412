#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "base/mutex.h"

namespace skiff {

// The last 4 KiB of what went through. Thread-safe.
class RecentOutput {
 public:
  void Append(std::span<const std::byte> bytes) EXCLUDES(mutex_);

  // From the start of a line on if there is one; control characters and bytes outside ASCII are
  // left out, so that a guest cannot steer the terminal that this is shown on.
  std::string Text() const EXCLUDES(mutex_);

 private:
  static constexpr size_t kBytes = 4096;

  mutable Mutex mutex_;
  std::array<char, kBytes> ring_ GUARDED_BY(mutex_){};
  uint64_t total_ GUARDED_BY(mutex_) = 0;
};

}  // namespace skiff
