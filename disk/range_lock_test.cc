#include "disk/range_lock.h"

#include <gtest/gtest.h>

#include <atomic>
#include <optional>
#include <thread>
#include <vector>

namespace skiff {
namespace {

using Mode = RangeLock::Mode;

FileRange At(uint64_t start, uint64_t length) {
  return FileRange::Make(FileOffset(start), length).value();
}

// Takes a range on a thread of its own.
class Taker {
 public:
  Taker(RangeLock& lock, FileRange range, Mode mode)
      : thread_([this, &lock, range, mode] {
          const RangeLock::Hold hold(lock, range, mode);
          taken_ = true;
          while (!let_go_) std::this_thread::yield();
        }) {}
  ~Taker() { LetGo(); }

  bool TakenSoon() const {
    for (int i = 0; i < 5000 && !taken_; ++i)
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    return taken_;
  }
  bool StillWaiting() const {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    return !taken_;
  }
  void LetGo() {
    let_go_ = true;
    if (thread_.joinable()) thread_.join();
  }

 private:
  std::atomic<bool> taken_{false};
  std::atomic<bool> let_go_{false};
  std::thread thread_;
};

TEST(RangeLock, OnlyOverlappingExclusiveHoldsWait) {
  RangeLock lock;
  Taker shared(lock, At(0, 100), Mode::kShared);
  ASSERT_TRUE(shared.TakenSoon());
  Taker another(lock, At(50, 100), Mode::kShared);
  EXPECT_TRUE(another.TakenSoon());
  Taker elsewhere(lock, At(150, 10), Mode::kExclusive);
  EXPECT_TRUE(elsewhere.TakenSoon());
  Taker exclusive(lock, At(99, 1), Mode::kExclusive);
  EXPECT_TRUE(exclusive.StillWaiting());
  shared.LetGo();
  EXPECT_TRUE(exclusive.StillWaiting());
  another.LetGo();
  EXPECT_TRUE(exclusive.TakenSoon());
}

TEST(RangeLock, LatecomersDoNotOvertakeAWaiter) {
  RangeLock lock;
  Taker first(lock, At(0, 10), Mode::kShared);
  ASSERT_TRUE(first.TakenSoon());
  Taker waiter(lock, At(0, 10), Mode::kExclusive);
  ASSERT_TRUE(waiter.StillWaiting());
  Taker late(lock, At(0, 10), Mode::kShared);
  EXPECT_TRUE(late.StillWaiting());
  first.LetGo();
  EXPECT_TRUE(waiter.TakenSoon());
  EXPECT_TRUE(late.StillWaiting());
  waiter.LetGo();
  EXPECT_TRUE(late.TakenSoon());
}

TEST(RangeLock, ExclusiveMeansAlone) {
  RangeLock lock;
  int counters[4] = {};  // each guarded by one of four ranges
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 2000; ++i) {
        const auto slot = static_cast<uint64_t>((i + t) % 4);
        const RangeLock::Hold hold(lock, At(slot * 10, 10), Mode::kExclusive);
        ++counters[slot];
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const int counter : counters) EXPECT_EQ(counter, 2000);
}

}  // namespace
}  // namespace skiff
