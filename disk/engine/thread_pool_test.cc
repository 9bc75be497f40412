#include "disk/engine/thread_pool.h"

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <thread>
#include <vector>

namespace skiff {
namespace {

using std::chrono::milliseconds;

// Performs by waiting until it is let go.
class Waiter final : public ThreadPool::Client {
 public:
  explicit Waiter(ThreadPool& pool) : pool_(pool) {}
  ~Waiter() {
    go_ = true;
    pool_.Drain(*this);
  }
  void Add(std::span<BlockRequest> requests) {
    RequestList list;
    for (BlockRequest& request : requests) list.Push(request);
    pool_.Add(*this, list);
    EXPECT_TRUE(list.empty());
  }
  void LetGo() { go_ = true; }
  void Drain() { pool_.Drain(*this); }
  int running() const { return running_; }
  int done() const { return done_; }

 private:
  void Perform(BlockRequest& /*request*/) override {
    ++running_;
    while (!go_) std::this_thread::sleep_for(milliseconds(1));
    --running_;
    ++done_;
  }
  ThreadPool& pool_;
  std::atomic<bool> go_{false};
  std::atomic<int> running_{0};
  std::atomic<int> done_{0};
};

template <typename Condition>
bool Soon(Condition condition) {
  for (int i = 0; i < 10'000 && !condition(); ++i) std::this_thread::sleep_for(milliseconds(1));
  return condition();
}

std::unique_ptr<ThreadPool> Pool(uint32_t threads, milliseconds idle_time = milliseconds(10'000)) {
  ThreadPool::Options options;
  options.max_threads = threads;
  options.idle_time = idle_time;
  return ThreadPool::Make(options).value();
}

TEST(ThreadPool, StartsThreadsOnlyAsTheWorkNeedsThemAndNotTooMany) {
  const auto pool = Pool(4);
  EXPECT_EQ(pool->threads(), 1u);
  Waiter waiter(*pool);
  std::vector<BlockRequest> requests(20);
  waiter.Add(std::span(requests).first(2));
  EXPECT_TRUE(Soon([&] { return waiter.running() == 2; }));
  EXPECT_EQ(pool->threads(), 2u);
  waiter.Add(std::span(requests).subspan(2));
  EXPECT_TRUE(Soon([&] { return waiter.running() == 4; }));
  std::this_thread::sleep_for(milliseconds(20));
  EXPECT_EQ(waiter.running(), 4);
  waiter.LetGo();
  waiter.Drain();
  EXPECT_EQ(waiter.done(), 20);
}

TEST(ThreadPool, ThreadsEndWhenIdleExceptOne) {
  const auto pool = Pool(8, milliseconds(5));
  Waiter waiter(*pool);
  std::vector<BlockRequest> requests(8);
  for (int round = 0; round < 3; ++round) {
    waiter.Add(requests);
    waiter.LetGo();
    waiter.Drain();
    EXPECT_TRUE(Soon([&] { return pool->threads() == 1; }));
  }
  EXPECT_EQ(waiter.done(), 24);
}

// A client with a long list does not keep others waiting until its end.
TEST(ThreadPool, ClientsTakeTurns) {
  const auto pool = Pool(1);
  std::vector<BlockRequest> many(64);
  BlockRequest one;
  std::atomic<int> greedy_done = 0;
  std::atomic<int> greedy_done_before_modest = -1;
  std::atomic<bool> go = false;

  struct Recorder final : ThreadPool::Client {
    explicit Recorder(std::function<void()> perform) : perform_(std::move(perform)) {}
    void Perform(BlockRequest& /*request*/) override { perform_(); }
    std::function<void()> perform_;
  };
  Recorder greedy([&] {
    while (!go) std::this_thread::yield();
    ++greedy_done;
  });
  Recorder modest([&] { greedy_done_before_modest = greedy_done.load(); });
  RequestList list;
  for (BlockRequest& request : many) list.Push(request);
  pool->Add(greedy, list);
  list.Push(one);
  pool->Add(modest, list);
  go = true;
  pool->Drain(modest);
  pool->Drain(greedy);
  EXPECT_EQ(greedy_done, 64);
  EXPECT_LE(greedy_done_before_modest, 3);
}

TEST(ThreadPool, DrainWaitsForItsClientOnly) {
  const auto pool = Pool(2);
  Waiter stuck(*pool);
  Waiter quick(*pool);
  quick.LetGo();
  BlockRequest first;
  BlockRequest second;
  stuck.Add({&first, 1});
  quick.Add({&second, 1});
  quick.Drain();
  EXPECT_EQ(quick.done(), 1);
  EXPECT_EQ(stuck.done(), 0);
}

TEST(ThreadPool, NeedsAtLeastOneThread) {
  ThreadPool::Options options;
  options.max_threads = 0;
  EXPECT_FALSE(ThreadPool::Make(options).ok());
}

}  // namespace
}  // namespace skiff
