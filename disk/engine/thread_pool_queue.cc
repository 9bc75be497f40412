#include "disk/engine/thread_pool_queue.h"

#include "base/arith.h"

namespace skiff {
namespace {

// Longer ones are worth a thread: copying would hold up the submitting thread.
constexpr uint64_t kLongestAtOnce = 64 * kKiB;

}  // namespace

Result<std::unique_ptr<ThreadPoolQueue>> ThreadPoolQueue::Make(const BlockingExecutor& executor,
                                                               ThreadPool& pool) {
  EventFd event = TRY(EventFd::Make());
  return std::unique_ptr<ThreadPoolQueue>(new ThreadPoolQueue(executor, pool, std::move(event)));
}

ThreadPoolQueue::~ThreadPoolQueue() {
  pool_.Add(*this, batch_);
  pool_.Drain(*this);
}

void ThreadPoolQueue::Submit(BlockRequest& request) {
  request.outcome = executor_.Check(request);
  if (!request.outcome.ok() || DoneAtOnce(request)) {
    ready_.Push(request);
  } else {
    batch_.Push(request);
  }
}

bool ThreadPoolQueue::DoneAtOnce(BlockRequest& request) {
  const bool transfer = request.op == BlockOp::kRead || request.op == BlockOp::kWrite;
  if (!transfer || request.range.length() > kLongestAtOnce) return false;
  NoWaitPolicy& policy = request.op == BlockOp::kRead ? reads_ : writes_;
  if (!policy.WorthTrying()) return false;
  const bool done = executor_.TryPerform(request);
  policy.Note(done);
  return done;
}

void ThreadPoolQueue::Kick() {
  pool_.Add(*this, batch_);
  if (ready_.empty()) return;
  bool signal = false;
  {
    MutexLock lock(mutex_);
    signal = MustSignalLocked();
  }
  if (signal) event_.Signal();
}

void ThreadPoolQueue::Perform(BlockRequest& request) {
  request.outcome = executor_.Perform(request);
  bool signal = false;
  {
    MutexLock lock(mutex_);
    done_.Push(request);
    signal = MustSignalLocked();
  }
  if (signal) event_.Signal();  // the destructor waits for our return, not for the list
}

bool ThreadPoolQueue::MustSignalLocked() { return !std::exchange(signalled_, true); }

BlockRequest* ThreadPoolQueue::Reap() {
  if (ready_.empty()) FetchDone();
  return ready_.Pop();
}

void ThreadPoolQueue::FetchDone() {
  MutexLock lock(mutex_);
  // Inside the lock: whoever signals afterwards must not have its signal eaten.
  if (std::exchange(signalled_, false)) event_.Drain();
  ready_.Append(done_);
}

}  // namespace skiff
