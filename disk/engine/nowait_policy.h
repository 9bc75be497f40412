#pragma once

#include <algorithm>
#include <cstdint>

namespace skiff {

// Whether to try a transfer without waiting before handing it to a thread. Where the last tries
// were in vain (cold data, or a file system that cannot), fewer and fewer are made; one success
// brings them back. Used by one thread.
class NoWaitPolicy {
 public:
  bool WorthTrying() {
    if (skip_ == 0) return true;
    --skip_;
    return false;
  }

  void Note(bool success) {
    pause_ = success ? 0 : std::min(2 * pause_ + 1, kLongestPause);
    skip_ = pause_;
  }

 private:
  static constexpr uint32_t kLongestPause = 63;  // at worst 1 try in 64 is wasted
  uint32_t pause_ = 0;                           // how many to leave out after the next failure
  uint32_t skip_ = 0;                            // how many are still to be left out
};

}  // namespace skiff
