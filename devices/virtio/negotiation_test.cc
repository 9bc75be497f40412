#include "devices/virtio/negotiation.h"

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <optional>
#include <string>
#include <thread>

#include "tests/fakes/driver.h"
#include "tests/fakes/fake_interrupts.h"

namespace skiff::virtio {
namespace {

using fakes::AddStatus;
using fakes::DriverQueue;
using fakes::FakeInterrupts;
using fakes::GuestRam;

constexpr uint64_t kOwnFeature = FeatureBit(5);

// A device that notes what happens to it.
class NotingDevice final : public Device {
 public:
  DeviceType type() const override { return DeviceType::kBlock; }
  uint64_t offered_features() const override { return kOwnFeature; }
  std::span<const uint16_t> max_queue_sizes() const override { return kSizes; }
  void ReadConfig(uint32_t offset, std::span<std::byte> data) const override {
    ReadConfigBytes(std::as_bytes(std::span("config", 6)), offset, data);
  }
  void WriteConfig(uint32_t, std::span<const std::byte>) override {}
  Result<void> Start(Session session) override {
    ++starts;
    if (refuse) return Unsupported("not today");
    running.emplace(std::move(session));
    return {};
  }
  void Stop() override {
    ++stops;
    while (busy.load()) std::this_thread::yield();
    running.reset();
  }

  static constexpr std::array<uint16_t, 2> kSizes{16, 64};
  std::optional<Session> running;
  std::atomic<int> starts = 0;
  std::atomic<int> stops = 0;
  std::atomic<bool> busy = false;
  bool refuse = false;
};

class NegotiationTest : public testing::Test {
 protected:
  NegotiationTest()
      : negotiation_(std::move(Negotiation::Make(ram_.memory(), device_, interrupts_)).value()),
        queue_(ram_, 16, 0) {}

  uint64_t offered() { return fakes::OfferedFeatures(*negotiation_); }

  GuestRam ram_;
  NotingDevice device_;
  FakeInterrupts interrupts_;
  std::unique_ptr<Negotiation> negotiation_;
  DriverQueue queue_;
};

TEST_F(NegotiationTest, OffersOnlyWhatIsImplemented) {  // B-17
  EXPECT_EQ(offered(),
            kOwnFeature | kFeatureVersion1 | kFeatureRingIndirectDesc | kFeatureRingEventIdx);
  EXPECT_EQ(offered() & (kFeatureRingPacked | kFeatureRingReset), 0U);
  negotiation_->SelectDeviceFeatures(2);
  EXPECT_EQ(negotiation_->DeviceFeatures(), 0U);
}

TEST_F(NegotiationTest, WholeSequenceStartsTheDevice) {
  EXPECT_TRUE(fakes::StartDevice(*negotiation_, kFeatureVersion1 | kOwnFeature, queue_));
  EXPECT_EQ(negotiation_->status(),
            kStatusAcknowledge | kStatusDriver | kStatusFeaturesOk | kStatusDriverOk);
  ASSERT_TRUE(device_.running);
  EXPECT_EQ(device_.running->features, kFeatureVersion1 | kOwnFeature);
  ASSERT_EQ(device_.running->queues.size(), 1U);
  EXPECT_EQ(device_.running->queues[0].index, 0);
  EXPECT_EQ(device_.running->queues[0].queue->size(), 16);
  AddStatus(*negotiation_, kStatusDriverOk);
  EXPECT_EQ(device_.starts, 1);
}

TEST_F(NegotiationTest, OnlyEnabledQueuesRun) {
  ASSERT_TRUE(fakes::Negotiate(*negotiation_, kFeatureVersion1));
  fakes::SetUpQueue(*negotiation_, 1, queue_.layout());
  AddStatus(*negotiation_, kStatusDriverOk);
  ASSERT_TRUE(device_.running);
  ASSERT_EQ(device_.running->queues.size(), 1U);
  EXPECT_EQ(device_.running->queues[0].index, 1);
  EXPECT_EQ(device_.running->queues[0].kick, &negotiation_->kick_event(1));
}

TEST_F(NegotiationTest, RefusesFeaturesThatDoNotFit) {
  EXPECT_FALSE(fakes::Negotiate(*negotiation_, kOwnFeature)) << "without VERSION_1";
  EXPECT_FALSE(fakes::Negotiate(*negotiation_, kFeatureVersion1 | kFeatureRingPacked));
  EXPECT_FALSE(fakes::Negotiate(*negotiation_, kFeatureVersion1 | FeatureBit(63)));
  // Refused features leave the way to running shut.
  AddStatus(*negotiation_, kStatusDriverOk);
  EXPECT_EQ(negotiation_->status() & kStatusDriverOk, 0);
  EXPECT_EQ(device_.starts, 0);
}

TEST_F(NegotiationTest, FeaturesAreSettledByFeaturesOk) {
  ASSERT_TRUE(fakes::Negotiate(*negotiation_, kFeatureVersion1));
  fakes::AcceptFeatures(*negotiation_, kFeatureVersion1 | kFeatureRingPacked);
  fakes::SetUpQueue(*negotiation_, 0, queue_.layout());
  AddStatus(*negotiation_, kStatusDriverOk);
  ASSERT_TRUE(device_.running);
  EXPECT_EQ(device_.running->features, kFeatureVersion1);
}

TEST_F(NegotiationTest, DriverCannotSetOrClearTheDevicesBits) {
  negotiation_->WriteStatus(kStatusAcknowledge | kStatusDeviceNeedsReset);
  EXPECT_EQ(negotiation_->status(), kStatusAcknowledge);
  ASSERT_TRUE(fakes::StartDevice(*negotiation_, kFeatureVersion1, queue_));
  device_.running->notifier->NeedsReset();
  negotiation_->WriteStatus(kStatusAcknowledge);
  EXPECT_NE(negotiation_->status() & kStatusDeviceNeedsReset, 0);
  EXPECT_NE(negotiation_->status() & kStatusDriverOk, 0);
}

TEST_F(NegotiationTest, NothingSurvivesAReset) {  // B-12
  negotiation_->SelectDeviceFeatures(1);
  negotiation_->SelectDriverFeatures(1);
  ASSERT_TRUE(fakes::StartDevice(*negotiation_, kFeatureVersion1 | kOwnFeature, queue_));
  negotiation_->SelectQueue(1);
  negotiation_->SetQueueSize(8);
  negotiation_->Kick(0);
  device_.running->notifier->NeedsReset();
  negotiation_->WriteStatus(0);

  EXPECT_EQ(device_.stops, 1);
  EXPECT_FALSE(device_.running);
  EXPECT_EQ(negotiation_->status(), 0);
  EXPECT_EQ(negotiation_->device_feature_select(), 0U);
  EXPECT_EQ(negotiation_->driver_feature_select(), 0U);
  EXPECT_EQ(negotiation_->DriverFeatures(), 0U);
  EXPECT_EQ(negotiation_->queue_select(), 0);
  EXPECT_FALSE(negotiation_->QueueEnabled());
  EXPECT_EQ(negotiation_->QueueAddress(QueueArea::kDescriptor), 0U);
  EXPECT_FALSE(negotiation_->kick_event(0).Drain());
  negotiation_->SelectQueue(1);
  EXPECT_EQ(negotiation_->QueueSize(), 64);
  for (int i = 0; i < 50; ++i)
    ASSERT_TRUE(fakes::StartDevice(*negotiation_, kFeatureVersion1, queue_)) << i;
  EXPECT_EQ(device_.starts, 51);
  EXPECT_EQ(device_.stops, 50);
}

TEST_F(NegotiationTest, QueueRegistersOfOneQueue) {
  ASSERT_TRUE(fakes::Negotiate(*negotiation_, kFeatureVersion1));
  negotiation_->SelectQueue(1);
  EXPECT_EQ(negotiation_->QueueSize(), 64);
  EXPECT_EQ(negotiation_->MaxQueueSize(), 64);
  negotiation_->SetQueueSize(32);
  EXPECT_EQ(negotiation_->QueueSize(), 32);
  EXPECT_EQ(negotiation_->MaxQueueSize(), 64);
  negotiation_->SetQueueAddress(QueueArea::kDevice, 0x1111222233334444, ~uint64_t{0});
  negotiation_->SetQueueAddress(QueueArea::kDevice, uint64_t{7} << 32, uint64_t{UINT32_MAX} << 32);
  EXPECT_EQ(negotiation_->QueueAddress(QueueArea::kDevice), 0x733334444U);
  EXPECT_EQ(negotiation_->QueueAddress(QueueArea::kDriver), 0U);
  negotiation_->EnableQueue();
  EXPECT_TRUE(negotiation_->QueueEnabled());
  negotiation_->SetQueueSize(16);
  EXPECT_EQ(negotiation_->QueueSize(), 32) << "an enabled queue is settled";
  negotiation_->SelectQueue(0);
  EXPECT_EQ(negotiation_->QueueSize(), 16);
  EXPECT_FALSE(negotiation_->QueueEnabled());
}

TEST_F(NegotiationTest, QueuesThatDoNotExist) {
  ASSERT_TRUE(fakes::Negotiate(*negotiation_, kFeatureVersion1));
  for (const uint16_t index : {uint16_t{2}, uint16_t{0xffff}}) {
    negotiation_->SelectQueue(index);
    EXPECT_EQ(negotiation_->queue_select(), index);
    EXPECT_EQ(negotiation_->QueueSize(), 0);
    EXPECT_EQ(negotiation_->MaxQueueSize(), 0);
    negotiation_->SetQueueSize(4);
    negotiation_->SetQueueAddress(QueueArea::kDriver, 16, ~uint64_t{0});
    negotiation_->EnableQueue();
    EXPECT_FALSE(negotiation_->QueueEnabled());
    EXPECT_EQ(negotiation_->QueueAddress(QueueArea::kDriver), 0U);
    negotiation_->Kick(index);
  }
}

TEST_F(NegotiationTest, BadQueueLayoutNeedsReset) {
  ASSERT_TRUE(fakes::Negotiate(*negotiation_, kFeatureVersion1));
  QueueLayout layout = queue_.layout();
  layout.device_area = ram_.end();
  fakes::SetUpQueue(*negotiation_, 0, layout);
  AddStatus(*negotiation_, kStatusDriverOk);
  EXPECT_NE(negotiation_->status() & kStatusDeviceNeedsReset, 0);
  EXPECT_EQ(interrupts_.config_interrupts(), 1U);
  EXPECT_EQ(device_.starts, 0);
  EXPECT_TRUE(fakes::StartDevice(*negotiation_, kFeatureVersion1, queue_));
  EXPECT_TRUE(device_.running);
}

TEST_F(NegotiationTest, DeviceThatDoesNotStartNeedsReset) {
  device_.refuse = true;
  ASSERT_TRUE(fakes::StartDevice(*negotiation_, kFeatureVersion1, queue_));
  EXPECT_NE(negotiation_->status() & kStatusDeviceNeedsReset, 0);
  negotiation_->WriteStatus(0);
  EXPECT_EQ(device_.stops, 0);
}

TEST_F(NegotiationTest, NeedsResetIsToldOnce) {
  ASSERT_TRUE(fakes::StartDevice(*negotiation_, kFeatureVersion1, queue_));
  device_.running->notifier->NeedsReset();
  device_.running->notifier->NeedsReset();
  EXPECT_EQ(interrupts_.config_interrupts(), 1U);
}

TEST_F(NegotiationTest, ConfigChangeMovesTheGeneration) {
  ASSERT_TRUE(fakes::StartDevice(*negotiation_, kFeatureVersion1, queue_));
  const uint32_t before = negotiation_->config_generation();
  device_.running->notifier->ConfigChanged();
  EXPECT_NE(negotiation_->config_generation(), before);
  EXPECT_EQ(interrupts_.config_interrupts(), 1U);
}

TEST_F(NegotiationTest, ConfigBytesBehindTheEndAreZero) {
  std::array<std::byte, 4> data{std::byte{9}, std::byte{9}, std::byte{9}, std::byte{9}};
  negotiation_->ReadConfig(4, data);
  EXPECT_EQ(data, (std::array<std::byte, 4>{std::byte{'i'}, std::byte{'g'}}));
  negotiation_->ReadConfig(UINT32_MAX, data);
  EXPECT_EQ(data, (std::array<std::byte, 4>{}));
}

TEST_F(NegotiationTest, OthersReadWhileAResetWaitsForTheDevice) {
  ASSERT_TRUE(fakes::StartDevice(*negotiation_, kFeatureVersion1, queue_));
  device_.busy = true;
  std::thread resetting([&] { negotiation_->WriteStatus(0); });
  while (device_.stops == 0) std::this_thread::yield();
  EXPECT_NE(negotiation_->status(), 0) << "the reset is not done";
  std::array<std::byte, 4> data{};
  negotiation_->ReadConfig(0, data);
  EXPECT_EQ(data[0], std::byte{'c'});
  device_.busy = false;
  resetting.join();
  EXPECT_EQ(negotiation_->status(), 0);
}

TEST_F(NegotiationTest, DestructionStopsTheDevice) {
  ASSERT_TRUE(fakes::StartDevice(*negotiation_, kFeatureVersion1, queue_));
  negotiation_.reset();
  EXPECT_EQ(device_.stops, 1);
}

}  // namespace
}  // namespace skiff::virtio
