#pragma once

#include <atomic>
#include <thread>

#include "base/unique_fd.h"

namespace skiff::lab {

// Writes a byte every few seconds, each time from the next processor: when the bytes cease, one of
// them hangs, or the whole machine. An emulated processor was seen doing so.
class Heartbeat {
 public:
  explicit Heartbeat(UniqueFd port);
  ~Heartbeat();
  Heartbeat(const Heartbeat&) = delete;
  Heartbeat& operator=(const Heartbeat&) = delete;

 private:
  void Beat();

  const UniqueFd port_;
  std::atomic<bool> stopping_ = false;
  std::thread thread_;
};

}  // namespace skiff::lab
