#include "disk/engine/thread_pool.h"

#include <algorithm>
#include <string>
#include <utility>

namespace skiff {

Result<std::unique_ptr<ThreadPool>> ThreadPool::Make(const Options& options) {
  if (options.max_threads == 0) return Invalid("a pool needs at least one thread");
  std::unique_ptr<ThreadPool> pool(new ThreadPool(options));
  {
    MutexLock lock(pool->mutex_);
    pool->alive_ = 1;
    pool->idle_ = 1;
  }
  TRY(pool->StartThread());
  return pool;
}

ThreadPool::~ThreadPool() {
  std::map<uint64_t, Thread> threads;
  {
    MutexLock lock(mutex_);
    stopping_ = true;
    work_.NotifyAll();
    threads.swap(threads_);  // all of them: one is only started while a client waits for work
  }
  threads.clear();  // joins
}

void ThreadPool::Add(Client& client, RequestList& requests) {
  if (requests.empty()) return;
  bool grow = false;
  {
    MutexLock lock(mutex_);
    const size_t count = requests.size();
    if (client.waiting_.empty()) PushReadyLocked(client);
    client.waiting_.Append(requests);
    waiting_ += count;
    for (size_t i = 0; i < std::min<size_t>(count, idle_); ++i) work_.NotifyOne();
    grow = MustGrowLocked();
  }
  if (grow) Grow();
}

void ThreadPool::Drain(Client& client) {
  MutexLock lock(mutex_);
  while (!client.waiting_.empty() || client.running_ > 0) finished_.Wait(mutex_);
}

uint32_t ThreadPool::threads() {
  MutexLock lock(mutex_);
  return alive_;
}

void ThreadPool::Work(uint64_t id) {
  mutex_.Lock();
  --idle_;  // it counted as idle while it was being started
  while (WaitForWorkLocked()) PerformOneLocked();
  --alive_;
  ended_.push_back(id);
  mutex_.Unlock();
}

bool ThreadPool::WaitForWorkLocked() {
  while (first_ready_ == nullptr) {
    if (stopping_) return false;
    if (!WaitIdleLocked() && first_ready_ == nullptr && alive_ > 1) return false;
  }
  return true;
}

bool ThreadPool::WaitIdleLocked() {
  ++idle_;
  bool woken = true;
  if (alive_ == 1) {
    work_.Wait(mutex_);
  } else {
    woken = work_.WaitUntil(mutex_, std::chrono::steady_clock::now() + options_.idle_time);
  }
  --idle_;
  return woken;
}

void ThreadPool::PerformOneLocked() {
  Client& client = PopReadyLocked();
  BlockRequest& request = *client.waiting_.Pop();
  --waiting_;
  ++client.running_;
  if (!client.waiting_.empty()) PushReadyLocked(client);
  const bool grow = MustGrowLocked();
  mutex_.Unlock();
  if (grow) Grow();
  client.Perform(request);
  mutex_.Lock();
  --client.running_;
  if (client.running_ == 0 && client.waiting_.empty()) finished_.NotifyAll();
}

void ThreadPool::PushReadyLocked(Client& client) {
  client.next_ready_ = nullptr;
  (first_ready_ == nullptr ? first_ready_ : last_ready_->next_ready_) = &client;
  last_ready_ = &client;
}

ThreadPool::Client& ThreadPool::PopReadyLocked() {
  Client& client = *first_ready_;
  first_ready_ = client.next_ready_;
  return client;
}

bool ThreadPool::MustGrowLocked() {
  if (waiting_ <= idle_ || alive_ >= options_.max_threads || starting_) return false;
  starting_ = true;
  ++alive_;
  ++idle_;
  return true;
}

void ThreadPool::Grow() {
  bool more = true;
  while (more) {
    const bool started = StartThread().ok();
    MutexLock lock(mutex_);
    starting_ = false;
    if (!started) {  // the host has no more threads for us; those that are there do the work
      --alive_;
      --idle_;
    }
    // Others left this to us meanwhile, and may all be stuck in long requests by now.
    more = started && MustGrowLocked();
  }
}

Result<void> ThreadPool::StartThread() {
  std::vector<Thread> ended;  // joined last, unlocked; they are past their last use of the pool
  uint64_t id = 0;
  {
    MutexLock lock(mutex_);
    id = next_id_++;
    ended = TakeEndedLocked();
  }
  Thread thread = TRY(Thread::Start("disk-" + std::to_string(id), [this, id] { Work(id); }));
  MutexLock lock(mutex_);
  threads_.emplace(id, std::move(thread));
  return {};
}

std::vector<Thread> ThreadPool::TakeEndedLocked() {
  std::vector<Thread> taken;
  std::vector<uint64_t> later;  // their starter has not put them into threads_ yet
  for (const uint64_t id : ended_) {
    const auto it = threads_.find(id);
    if (it == threads_.end()) {
      later.push_back(id);
      continue;
    }
    taken.push_back(std::move(it->second));
    threads_.erase(it);
  }
  ended_ = std::move(later);
  return taken;
}

}  // namespace skiff
