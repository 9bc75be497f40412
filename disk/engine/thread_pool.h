#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "base/mutex.h"
#include "base/thread.h"
#include "disk/engine/request_list.h"

namespace skiff {

// Threads that perform block requests for any number of clients. They are started when there is
// more work than threads, up to a limit, and end after some time without work; one always stays,
// so work is never stuck for want of a thread. Clients take turns, request by request. Thread-safe.
class ThreadPool {
 public:
  // Who hands in requests and gets them performed, typically a queue. Must call Drain() before it
  // is destroyed.
  class Client {
   public:
    // On a pool thread, for several requests at once.
    virtual void Perform(BlockRequest& request) = 0;

   protected:
    ~Client() = default;

   private:
    friend class ThreadPool;
    RequestList waiting_;   // all three guarded by the pool's mutex
    uint32_t running_ = 0;  // Perform() calls that have not returned
    Client* next_ready_ = nullptr;
  };

  struct Options {
    uint32_t max_threads = 32;
    std::chrono::milliseconds idle_time{10'000};  // then a thread ends
  };
  static Result<std::unique_ptr<ThreadPool>> Make(const Options& options);
  static Result<std::unique_ptr<ThreadPool>> Make() { return Make(Options()); }

  // Every client must be gone.
  ~ThreadPool() EXCLUDES(mutex_);
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  // Takes all of `requests`; never waits for one. The list is empty afterwards.
  void Add(Client& client, RequestList& requests) EXCLUDES(mutex_);
  // Returns when nothing of this client is waiting or running.
  void Drain(Client& client) EXCLUDES(mutex_);

  uint32_t threads() EXCLUDES(mutex_);  // alive now

 private:
  explicit ThreadPool(const Options& options) : options_(options) {}

  void Work(uint64_t id) EXCLUDES(mutex_);
  bool WaitForWorkLocked() REQUIRES(mutex_);  // false: end this thread
  bool WaitIdleLocked() REQUIRES(mutex_);     // false: for too long
  void PerformOneLocked() REQUIRES(mutex_);
  void PushReadyLocked(Client& client) REQUIRES(mutex_);
  Client& PopReadyLocked() REQUIRES(mutex_);
  // True if more requests wait than threads, and the caller is to start one, unlocked: only one at
  // a time, since short requests are done by fewer threads before many have started.
  bool MustGrowLocked() REQUIRES(mutex_);
  void Grow() EXCLUDES(mutex_);  // starts one, and then more if they are still needed
  Result<void> StartThread() EXCLUDES(mutex_);
  std::vector<Thread> TakeEndedLocked() REQUIRES(mutex_);

  const Options options_;
  Mutex mutex_;
  CondVar work_;
  CondVar finished_;
  Client* first_ready_ GUARDED_BY(mutex_) = nullptr;  // clients with waiting requests
  Client* last_ready_ GUARDED_BY(mutex_) = nullptr;
  size_t waiting_ GUARDED_BY(mutex_) = 0;  // requests of all clients
  uint32_t idle_ GUARDED_BY(mutex_) = 0;   // threads that will look for work
  uint32_t alive_ GUARDED_BY(mutex_) = 0;  // threads, and the one being started
  bool starting_ GUARDED_BY(mutex_) = false;
  bool stopping_ GUARDED_BY(mutex_) = false;
  uint64_t next_id_ GUARDED_BY(mutex_) = 0;
  std::map<uint64_t, Thread> threads_ GUARDED_BY(mutex_);
  std::vector<uint64_t> ended_ GUARDED_BY(mutex_);  // ids of threads to be joined
};

}  // namespace skiff
