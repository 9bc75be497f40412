// Many requests at once, lost wake-ups, resets in the middle.

#include <gtest/gtest.h>

#include <atomic>
#include <ctime>
#include <thread>
#include <vector>

#include "devices/virtio/blk/blk.h"
#include "tests/fakes/disk_rig.h"

namespace skiff::virtio {
namespace {

using fakes::DiskOutcome;
using fakes::DiskRig;
using fakes::DiskRigOptions;
using fakes::DriverBuffer;

constexpr DiskOutcome kOk{kBlkStatusOk, 1};

// Waits until the disk has accepted so many requests, for ten seconds at most.
bool WaitUntilWaiting(const DiskRig& rig, uint32_t count) {
  for (int i = 0; i < 10000; ++i) {
    if (rig.disk->waiting() == count) return true;
    const timespec pause{.tv_sec = 0, .tv_nsec = 1'000'000};
    nanosleep(&pause, nullptr);
  }
  return false;
}

// B-18: more outstanding than any pool has workers; all complete.
TEST(Load, WholeRingsOutstandingOnFourQueues) {
  constexpr uint16_t kQueues = 4;
  constexpr uint16_t kDepth = 256;
  DiskRigOptions options;
  options.blk.queue_count = kQueues;
  options.queue_size = kDepth;
  DiskRig rig(options);
  EXPECT_NE(rig.features & kBlkFeatureMq, 0U);
  EXPECT_EQ(rig.Config().num_queues, kQueues);
  rig.disk->Hold();
  const GuestAddr data = rig.ram.Allocate(512);
  const DriverBuffer header = rig.Header(BlkRequestType::kOut, 0);
  const GuestAddr statuses = rig.ram.Allocate(kQueues * kDepth);
  rig.ram.Fill(statuses, kQueues * kDepth, 0xff);
  for (uint16_t q = 0; q < kQueues; ++q) {
    for (uint16_t i = 0; i < kDepth; ++i) {
      const DriverBuffer status{statuses + (q * kDepth + i), 1, true};
      rig.queue(q).AddIndirect(std::vector<DriverBuffer>{header, {data, 512, false}, status});
    }
    rig.Kick(q);
  }
  EXPECT_TRUE(WaitUntilWaiting(rig, kQueues * kDepth));
  rig.disk->Release();
  for (uint16_t q = 0; q < kQueues; ++q)
    for (uint16_t i = 0; i < kDepth; ++i) ASSERT_TRUE(rig.WaitForAnswer(q)) << q << " " << i;
  EXPECT_EQ(rig.ram.Read(statuses, kQueues * kDepth), std::vector<std::byte>(kQueues * kDepth));
  EXPECT_EQ(rig.disk->most_in_flight(), kDepth);
  EXPECT_FALSE(rig.disk->depth_exceeded());
}

// B-13. The driver sleeps whenever the ring is empty and kicks and takes interrupts only as event
// suppression tells it; one lost wake-up and this hangs.
void RunWithoutStall(uint64_t refused, uint32_t depth, int requests) {
  DiskRigOptions options;
  options.refused_features = refused;
  DiskRig rig(options);
  const DriverBuffer header = rig.Header(BlkRequestType::kFlush, 0);
  const DriverBuffer status = rig.Status();
  int sent = 0;
  int answered = 0;
  while (answered < requests) {
    while (sent < requests && static_cast<uint32_t>(sent - answered) < depth) {
      rig.queue().Add({header, status});
      ++sent;
      if (rig.queue().NeedsKick()) rig.Kick();
    }
    ASSERT_TRUE(rig.WaitForAnswer()) << "stalled after " << answered << " of " << requests;
    ++answered;
  }
  if (depth > 1 && refused == 0) {
    EXPECT_LT(rig.interrupts.queue_interrupts(), static_cast<uint64_t>(requests));
  }
}

TEST(Load, NoStallWithEventIndex) { RunWithoutStall(0, 1, 5000); }
TEST(Load, NoStallWithEventIndexDeep) { RunWithoutStall(0, 16, 20000); }
TEST(Load, NoStallWithoutEventIndex) { RunWithoutStall(kFeatureRingEventIdx, 1, 5000); }
TEST(Load, NoStallWithoutEventIndexDeep) { RunWithoutStall(kFeatureRingEventIdx, 16, 20000); }

TEST(Load, OneInterruptForABatch) {
  DiskRig rig;
  rig.disk->Hold();
  const DriverBuffer header = rig.Header(BlkRequestType::kFlush, 0);
  for (int i = 0; i < 20; ++i) rig.queue().Add({header, rig.Status()});
  rig.Kick();
  ASSERT_TRUE(WaitUntilWaiting(rig, 20));
  rig.disk->Release();
  for (int i = 0; i < 20; ++i) ASSERT_TRUE(rig.WaitForAnswer());
  EXPECT_LT(rig.interrupts.queue_interrupts(), 20U);
}

// B-12: reset with requests in flight waits for them, tells the driver nothing and touches no
// memory afterwards.
TEST(Load, ResetInFlight) {
  DiskRig rig;
  const GuestAddr data = rig.ram.Allocate(512);
  rig.disk->SetBytes(0, std::vector<std::byte>(512, std::byte{7}));
  for (int round = 0; round < 50; ++round) {
    rig.disk->Hold();
    for (int i = 0; i < 10; ++i)
      rig.queue().Add({rig.Header(BlkRequestType::kIn, 0), {data, 512, true}, rig.Status()});
    rig.Kick();
    if (round % 2 == 0) {
      ASSERT_TRUE(WaitUntilWaiting(rig, 10));
    }
    const QueueLayout old = rig.queue().layout();
    std::thread slow([&] { rig.disk->Release(); });
    rig.negotiation->WriteStatus(0);
    slow.join();
    EXPECT_EQ(rig.negotiation->status(), 0);
    EXPECT_EQ(rig.disk->waiting(), 0U);
    // The memory is the driver's again.
    const size_t used_bytes = DeviceAreaBytes(old.size);
    rig.ram.Fill(old.device_area, used_bytes, 0xaa);
    rig.ram.Fill(data, 512, 0x55);
    rig.Restart();
    EXPECT_EQ(rig.Flush(), kOk);
    EXPECT_EQ(rig.ram.Read(old.device_area, used_bytes),
              std::vector<std::byte>(used_bytes, std::byte{0xaa}));
    EXPECT_EQ(rig.ram.Read(data, 512), std::vector<std::byte>(512, std::byte{0x55}));
  }
}

// A driver that offers the same bad chains over and over, without waiting for answers, does not
// keep a reset from coming through.
TEST(Load, ResetWhileTheDriverFloods) {
  DiskRig rig;
  const DriverBuffer header = rig.Header(static_cast<BlkRequestType>(99), 0);
  const DriverBuffer status = rig.Status();
  rig.queue().Add({header, status});
  std::atomic<bool> stop = false;
  std::thread flood([&] {
    uint16_t available = 1;
    while (!stop.load()) {
      // One ahead of what was answered, the ring's entries being 0 all along.
      const auto answered = static_cast<uint16_t>(rig.queue().used_index() + 32);
      if (answered != available) rig.queue().SetAvailableIndex(available = answered);
      rig.Kick();
    }
  });
  const timespec pause{.tv_sec = 0, .tv_nsec = 50'000'000};
  nanosleep(&pause, nullptr);
  rig.negotiation->WriteStatus(0);
  EXPECT_EQ(rig.negotiation->status(), 0);
  stop = true;
  flood.join();
}

TEST(Load, WildIndexStopsTheDeviceQuietly) {  // B-02
  DiskRig rig;
  rig.queue().SetAvailableIndex(static_cast<uint16_t>(rig.options.queue_size + 5));
  rig.Kick();
  EXPECT_FALSE(rig.WaitForAnswer());
  EXPECT_TRUE(rig.needs_reset());
  timespec before{};
  timespec after{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &before);
  for (int i = 0; i < 100; ++i) rig.Kick();
  const timespec pause{.tv_sec = 0, .tv_nsec = 200'000'000};
  nanosleep(&pause, nullptr);
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &after);
  const auto nanoseconds =
      (after.tv_sec - before.tv_sec) * 1'000'000'000 + (after.tv_nsec - before.tv_nsec);
  EXPECT_LT(nanoseconds, 100'000'000);
  rig.Restart();
  EXPECT_EQ(rig.Flush(), kOk);
}

TEST(Load, RequestsInFlightAreAnsweredAfterTheRingBroke) {
  DiskRig rig;
  rig.disk->Hold();
  rig.queue().Add({rig.Header(BlkRequestType::kFlush, 0), rig.Status()});
  rig.Kick();
  ASSERT_TRUE(WaitUntilWaiting(rig, 1));
  rig.queue().Offer(rig.options.queue_size);
  rig.Kick();
  while (!rig.needs_reset()) std::this_thread::yield();
  rig.disk->Release();
  while (rig.queue().used_index() == 0) std::this_thread::yield();
  EXPECT_TRUE(rig.queue().TakeUsed());
}

}  // namespace
}  // namespace skiff::virtio
