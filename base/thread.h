#pragma once

#include <pthread.h>

#include <functional>
#include <string_view>

#include "base/result.h"

namespace skiff {

// A named thread, joined by its destructor; whoever owns it must first make `body` return.
// All signals are blocked in it, so that they reach the main thread, except those of its own
// faults (SIGSEGV and the like) and those that a body unblocks itself (a vCPU thread's kick).
class Thread {
 public:
  // `name` is cut to 15 bytes (pthread_setname_np). Stacks are 256 KiB.
  static Result<Thread> Start(std::string_view name, std::function<void()> body);

  Thread(Thread&& other) noexcept;
  Thread& operator=(Thread&& other) noexcept;
  ~Thread();

  pthread_t handle() const { return handle_; }
  void Join();

 private:
  explicit Thread(pthread_t handle) : handle_(handle), joinable_(true) {}
  pthread_t handle_;
  bool joinable_;
};

}  // namespace skiff
