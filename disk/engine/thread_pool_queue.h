#pragma once

#include <memory>

#include "base/event_fd.h"
#include "base/mutex.h"
#include "disk/engine/blocking_executor.h"
#include "disk/engine/nowait_policy.h"
#include "disk/engine/request_list.h"
#include "disk/engine/thread_pool.h"

namespace skiff {

// A BlockQueue over a pool of threads that wait for the disk. Short transfers that need not wait
// are done inside Submit() instead: passing them to a thread takes longer than they do.
//
// Used by one thread, as every BlockQueue. The pool and what `executor` works on outlive it.
class ThreadPoolQueue final : public BlockQueue, private ThreadPool::Client {
 public:
  static Result<std::unique_ptr<ThreadPoolQueue>> Make(const BlockingExecutor& executor,
                                                       ThreadPool& pool);
  ~ThreadPoolQueue() override;
  ThreadPoolQueue(const ThreadPoolQueue&) = delete;
  ThreadPoolQueue& operator=(const ThreadPoolQueue&) = delete;

  void Submit(BlockRequest& request) override;
  void Kick() override EXCLUDES(mutex_);
  int completion_event() const override { return event_.fd(); }
  BlockRequest* Reap() override EXCLUDES(mutex_);

 private:
  ThreadPoolQueue(const BlockingExecutor& executor, ThreadPool& pool, EventFd event)
      : executor_(executor), pool_(pool), event_(std::move(event)) {}

  void Perform(BlockRequest& request) override EXCLUDES(mutex_);  // on a pool thread
  bool DoneAtOnce(BlockRequest& request);
  void FetchDone() EXCLUDES(mutex_);
  // True if the caller must signal event_, unlocked.
  [[nodiscard]] bool MustSignalLocked() REQUIRES(mutex_);

  BlockingExecutor executor_;
  ThreadPool& pool_;
  const EventFd event_;

  // The submitting thread's own.
  RequestList batch_;  // for the pool, at the next Kick()
  RequestList ready_;  // for Reap()
  NoWaitPolicy reads_;
  NoWaitPolicy writes_;

  Mutex mutex_;
  RequestList done_ GUARDED_BY(mutex_);  // by pool threads, not yet in ready_
  bool signalled_ GUARDED_BY(mutex_) = false;
};

}  // namespace skiff
