#include "disk/group_sync.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

namespace skiff {
namespace {

TEST(GroupSync, AFailureIsFinal) {
  int calls = 0;
  std::vector<int> outcomes{0, EIO, 0, 0};
  GroupSync sync([&] { return outcomes[static_cast<size_t>(calls++)]; });
  EXPECT_TRUE(sync.Run().ok());
  const Result<void> failed = sync.Run();
  ASSERT_FALSE(failed.ok());
  EXPECT_EQ(failed.error().os_error(), EIO);
  EXPECT_FALSE(sync.Run().ok());
  EXPECT_FALSE(sync.Run().ok());
  EXPECT_EQ(calls, 2);
}

// A host call that waits until it is let go, and records how many ran at once.
class GatedSync {
 public:
  int operator()() {
    if (running_.fetch_add(1) != 0) overlapped_ = true;
    const int number = ++calls_;
    while (allowed_.load() < number) std::this_thread::yield();
    running_.fetch_sub(1);
    return 0;
  }
  void Allow(int calls) { allowed_ = calls; }
  int calls() const { return calls_; }
  bool overlapped() const { return overlapped_; }
  void AwaitCalls(int count) const {
    while (calls_.load() < count) std::this_thread::yield();
  }

 private:
  std::atomic<int> running_{0};
  std::atomic<int> calls_{0};
  std::atomic<int> allowed_{0};
  std::atomic<bool> overlapped_{false};
};

TEST(GroupSync, ACallThatRunsAlreadyDoesNotCountForNewcomers) {
  GatedSync host;
  GroupSync sync([&] { return host(); });
  std::thread first([&] { EXPECT_TRUE(sync.Run().ok()); });
  host.AwaitCalls(1);
  std::atomic<bool> second_done = false;
  std::thread second([&] {
    EXPECT_TRUE(sync.Run().ok());
    second_done = true;
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  host.Allow(1);
  first.join();
  host.AwaitCalls(2);
  EXPECT_FALSE(second_done);
  host.Allow(2);
  second.join();
}

TEST(GroupSync, ManyShareOneCall) {
  GatedSync host;
  GroupSync sync([&] { return host(); });
  std::thread first([&] { EXPECT_TRUE(sync.Run().ok()); });
  host.AwaitCalls(1);
  std::atomic<int> done = 0;
  std::vector<std::thread> others;
  for (int i = 0; i < 8; ++i) {
    others.emplace_back([&] {
      EXPECT_TRUE(sync.Run().ok());
      ++done;
    });
  }
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  host.Allow(1000);
  first.join();
  for (std::thread& other : others) other.join();
  EXPECT_EQ(done, 8);
  EXPECT_FALSE(host.overlapped());
  EXPECT_LE(host.calls(), 9);
  EXPECT_GE(host.calls(), 2);
}

}  // namespace
}  // namespace skiff
