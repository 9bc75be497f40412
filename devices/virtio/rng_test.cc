#include "devices/virtio/rng.h"

#include <gtest/gtest.h>

#include <ctime>
#include <vector>

#include "tests/fakes/driver.h"
#include "tests/fakes/fake_interrupts.h"

namespace skiff::virtio {
namespace {

using fakes::DriverBuffer;
using fakes::DriverQueue;

class RngTest : public testing::Test {
 protected:
  RngTest()
      : negotiation_(std::move(Negotiation::Make(ram_.memory(), rng_, interrupts_)).value()),
        queue_(ram_, 16, kFeatureVersion1) {}

  void Start() { ASSERT_TRUE(fakes::StartDevice(*negotiation_, kFeatureVersion1, queue_)); }

  std::optional<fakes::UsedElement> WaitForAnswer() {
    for (;;) {
      if (const auto used = queue_.TakeUsed()) return used;
      if (!interrupts_.Wait(seen_)) return std::nullopt;
    }
  }

  fakes::GuestRam ram_;
  fakes::FakeInterrupts interrupts_;
  Rng rng_;
  std::unique_ptr<Negotiation> negotiation_;
  DriverQueue queue_;
  uint64_t seen_ = 0;
};

TEST_F(RngTest, FillsBuffersWithDifferentBytes) {
  Start();
  const GuestAddr first = ram_.Allocate(64);
  const GuestAddr second = ram_.Allocate(64);
  queue_.Add({{first, 64, true}, {second, 64, true}});
  negotiation_->Kick(0);
  const auto used = WaitForAnswer();
  ASSERT_TRUE(used);
  EXPECT_EQ(used->length, 128U);
  EXPECT_NE(ram_.Read(first, 64), ram_.Read(second, 64));
  EXPECT_NE(ram_.Read(second, 64), std::vector<std::byte>(64));
}

TEST_F(RngTest, ServesWhatWaitedBeforeTheStart) {
  queue_.Add({{ram_.Allocate(8), 8, true}});
  Start();
  const auto used = WaitForAnswer();
  ASSERT_TRUE(used);
  EXPECT_EQ(used->length, 8U);
}

TEST_F(RngTest, BoundsTheWorkOfOneRequest) {
  Start();
  const uint32_t much = 2 * 1024 * 1024;
  queue_.Add({{ram_.Allocate(much), much, true}});
  negotiation_->Kick(0);
  const auto used = WaitForAnswer();
  ASSERT_TRUE(used);
  EXPECT_GT(used->length, 0U);
  EXPECT_LE(used->length, 64U * 1024);
}

TEST_F(RngTest, AnswersRequestsWithoutRoom) {
  Start();
  queue_.Add({{ram_.Allocate(8), 8, false}});
  queue_.Add({{ram_.end(), 8, true}});
  negotiation_->Kick(0);
  for (int i = 0; i < 2; ++i) {
    const auto used = WaitForAnswer();
    ASSERT_TRUE(used);
    EXPECT_EQ(used->length, 0U);
  }
}

// B-02: told once, then quiet: no loop, no more log lines, no exit.
TEST_F(RngTest, WildAvailableIndexNeedsResetAndCostsNoTime) {
  Start();
  queue_.SetAvailableIndex(21);
  negotiation_->Kick(0);
  ASSERT_TRUE(interrupts_.Wait(seen_));
  EXPECT_NE(negotiation_->status() & kStatusDeviceNeedsReset, 0);
  timespec before{};
  timespec after{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &before);
  for (int i = 0; i < 100; ++i) negotiation_->Kick(0);
  const timespec pause{.tv_sec = 0, .tv_nsec = 300'000'000};
  nanosleep(&pause, nullptr);
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &after);
  const double used = static_cast<double>(after.tv_sec - before.tv_sec) +
                      static_cast<double>(after.tv_nsec - before.tv_nsec) / 1e9;
  EXPECT_LT(used, 0.1);
  EXPECT_EQ(interrupts_.config_interrupts(), 1U);

  // And a reset heals it.
  DriverQueue fresh(ram_, 16, kFeatureVersion1);
  ASSERT_TRUE(fakes::StartDevice(*negotiation_, kFeatureVersion1, fresh));
  fresh.Add({{ram_.Allocate(8), 8, true}});
  negotiation_->Kick(0);
  ASSERT_TRUE(interrupts_.Wait(seen_));
  EXPECT_TRUE(fresh.TakeUsed());
}

TEST_F(RngTest, RunsWithoutAQueue) {
  ASSERT_TRUE(fakes::Negotiate(*negotiation_, kFeatureVersion1));
  fakes::AddStatus(*negotiation_, kStatusDriverOk);
  EXPECT_EQ(negotiation_->status() & kStatusDeviceNeedsReset, 0);
}

}  // namespace
}  // namespace skiff::virtio
