#include "devices/virtio/queue.h"

#include <gtest/gtest.h>

#include <vector>

#include "tests/fakes/queue_rig.h"

namespace skiff::virtio {
namespace {

using fakes::DriverBuffer;
using Rig = fakes::QueueRig;

constexpr uint16_t kSize = fakes::kRigQueueSize;
constexpr uint64_t kFeatures = fakes::kRigFeatures;

// --- sound chains ---

TEST(SplitQueue, HandsOverBuffersInOrder) {
  Rig rig;
  EXPECT_TRUE(rig.Empty());
  const DriverBuffer first = rig.Readable(16);
  const DriverBuffer second = rig.Readable(100);
  const DriverBuffer third = rig.Writable(1);
  rig.ram.Fill(second.address, 100, 0x5a);
  const uint16_t head = rig.driver.Add({first, second, third});

  auto chain = rig.Take();
  EXPECT_EQ(chain.answer.head(), head);
  EXPECT_FALSE(chain.faulty);
  ASSERT_EQ(chain.readable.size(), 2U);
  ASSERT_EQ(chain.writable.size(), 1U);
  EXPECT_EQ(chain.readable[0].size(), 16U);
  std::vector<std::byte> copy(100);
  chain.readable[1].CopyTo(copy);
  EXPECT_EQ(copy, std::vector<std::byte>(100, std::byte{0x5a}));
  EXPECT_TRUE(rig.Empty());
}

TEST(SplitQueue, AnswersBecomeVisibleTogether) {
  Rig rig;
  const uint16_t first = rig.driver.Add({rig.Writable(8)});
  const uint16_t second = rig.driver.Add({rig.Writable(8)});
  std::move(rig.Take().answer).Complete(3);
  std::move(rig.Take().answer).Complete(4);
  EXPECT_EQ(rig.driver.used_index(), 0);
  EXPECT_TRUE(rig.device->Publish());
  const auto one = rig.driver.TakeUsed();
  const auto two = rig.driver.TakeUsed();
  ASSERT_TRUE(one && two);
  EXPECT_EQ(one->head, first);
  EXPECT_EQ(one->length, 3U);
  EXPECT_EQ(two->head, second);
  EXPECT_EQ(two->length, 4U);
  EXPECT_FALSE(rig.device->Publish());
}

TEST(SplitQueue, AnswersMayComeOutOfOrder) {
  Rig rig;
  rig.driver.Add({rig.Writable(8)});
  const uint16_t later = rig.driver.Add({rig.Writable(8)});
  auto first = rig.Take();
  auto second = rig.Take();
  std::move(second.answer).Complete(1);
  EXPECT_TRUE(rig.device->Publish());
  EXPECT_EQ(rig.driver.TakeUsed()->head, later);
  EXPECT_FALSE(rig.driver.TakeUsed());
  std::move(first.answer).Complete(1);
}

TEST(SplitQueue, DroppedChainIsReturnedEmpty) {
  Rig rig;
  const uint16_t head = rig.driver.Add({rig.Writable(8)});
  { auto dropped = rig.Take(); }
  EXPECT_TRUE(rig.device->Publish());
  const auto used = rig.driver.TakeUsed();
  ASSERT_TRUE(used);
  EXPECT_EQ(used->head, head);
  EXPECT_EQ(used->length, 0U);
}

TEST(SplitQueue, ClosedQueueTouchesNothing) {
  Rig rig;
  rig.driver.Add({rig.Writable(8)});
  auto chain = rig.Take();
  const auto before = rig.ram.Read(rig.driver.layout().device_area, DeviceAreaBytes(kSize));
  rig.device->Close();
  std::move(chain.answer).Complete(8);
  EXPECT_FALSE(rig.device->Publish());
  EXPECT_EQ(rig.ram.Read(rig.driver.layout().device_area, DeviceAreaBytes(kSize)), before);
}

TEST(SplitQueue, RunsPastTheIndexWrap) {
  for (const uint64_t features : {kFeatures, kFeatures | kFeatureRingEventIdx}) {
    Rig rig(features);
    const DriverBuffer buffer = rig.Writable(8);
    for (int i = 0; i < 70000; ++i) {
      rig.driver.Add({buffer});
      std::move(rig.Take().answer).Complete(static_cast<uint32_t>(i));
      (void)rig.device->Publish();
      const auto used = rig.driver.TakeUsed();
      ASSERT_TRUE(used);
      ASSERT_EQ(used->length, static_cast<uint32_t>(i));
    }
  }
}

TEST(SplitQueue, SkipsEmptyBuffers) {
  Rig rig;
  DriverBuffer empty = rig.Readable(1);
  empty.length = 0;
  const DriverBuffer wild{GuestAddr(~uint64_t{0}), 0, false};
  rig.driver.Add({rig.Readable(16), empty, wild, rig.Writable(1)});
  const auto chain = rig.Take();
  EXPECT_FALSE(chain.faulty);
  EXPECT_EQ(chain.readable.size(), 1U);
  EXPECT_EQ(chain.writable.size(), 1U);
}

TEST(SplitQueue, TakesChainsAsLongAsTheRing) {
  Rig rig;
  const std::vector<DriverBuffer> buffers(kSize, rig.Readable(4));
  rig.driver.Add(buffers);
  EXPECT_EQ(rig.Take().readable.size(), kSize);
}

// --- indirect descriptors ---

TEST(SplitQueue, FollowsIndirectTables) {
  Rig rig;
  const std::vector<DriverBuffer> buffers{rig.Readable(16), rig.Readable(8), rig.Writable(32)};
  rig.driver.AddIndirect(buffers);
  const auto chain = rig.Take();
  ASSERT_EQ(chain.readable.size(), 2U);
  EXPECT_EQ(chain.readable[1].size(), 8U);
  ASSERT_EQ(chain.writable.size(), 1U);
}

TEST(SplitQueue, DirectDescriptorsMayPrecedeTheIndirectOne) {
  Rig rig;
  const DriverBuffer header = rig.Readable(16);
  const GuestAddr table = rig.ram.Allocate(sizeof(VirtqDesc));
  const GuestAddr data = rig.ram.Allocate(64);
  rig.ram.Store(table,
                VirtqDesc{.addr = data.value(), .len = 64U, .flags = kDescWrite, .next = {}});
  rig.driver.SetDescriptor(
      3, {.addr = header.address.value(), .len = 16U, .flags = kDescNext, .next = uint16_t{5}});
  // "Write" on the pointer means nothing.
  rig.driver.SetDescriptor(5, {.addr = table.value(),
                               .len = 16U,
                               .flags = uint16_t{kDescIndirect | kDescWrite},
                               .next = {}});
  rig.driver.Offer(3);
  const auto chain = rig.Take();
  EXPECT_EQ(chain.readable.size(), 1U);
  ASSERT_EQ(chain.writable.size(), 1U);
  EXPECT_EQ(chain.writable[0].size(), 64U);
}

TEST(SplitQueue, IndirectTablesAreBoundedByTheDeviceNotByTheRing) {
  Rig rig(kFeatures, /*max_size=*/64);
  rig.driver.AddIndirect(std::vector<DriverBuffer>(64, rig.Readable(4)));
  EXPECT_EQ(rig.Take().readable.size(), 64U);
  rig.driver.AddIndirect(std::vector<DriverBuffer>(65, rig.Readable(4)));
  EXPECT_FALSE(rig.device->Pop().ok());
}

// --- event suppression ---

TEST(SplitQueue, AsksForNotificationOnlyWhenEmpty) {
  Rig rig;
  EXPECT_TRUE(rig.Empty());
  EXPECT_TRUE(rig.driver.NeedsKick());
  rig.driver.Add({rig.Readable(4)});
  rig.driver.Add({rig.Readable(4)});
  auto chain = rig.Take();
  EXPECT_EQ(rig.driver.used_flags(), kUsedNoNotify);
  EXPECT_FALSE(rig.driver.NeedsKick());
  { auto other = rig.Take(); }
  EXPECT_TRUE(rig.Empty());
  EXPECT_EQ(rig.driver.used_flags(), 0);
}

TEST(SplitQueue, EventIndexAsksForNotificationOnlyWhenEmpty) {
  Rig rig(kFeatures | kFeatureRingEventIdx);
  rig.driver.Add({rig.Readable(4)});
  rig.driver.Add({rig.Readable(4)});
  EXPECT_TRUE(rig.driver.NeedsKick());
  { auto chain = rig.Take(); }
  rig.driver.Add({rig.Readable(4)});
  EXPECT_FALSE(rig.driver.NeedsKick());  // the device is at work
  { auto chain = rig.Take(); }
  { auto chain = rig.Take(); }
  EXPECT_TRUE(rig.Empty());
  rig.driver.Add({rig.Readable(4)});
  EXPECT_TRUE(rig.driver.NeedsKick());
}

TEST(SplitQueue, InterruptsUnlessTheDriverRefuses) {
  Rig rig;
  rig.driver.RefuseInterrupts();
  rig.driver.Add({rig.Readable(4)});
  { auto chain = rig.Take(); }
  EXPECT_FALSE(rig.device->Publish());
  EXPECT_TRUE(rig.driver.TakeUsed());
  EXPECT_TRUE(rig.driver.ArmInterrupt());
  rig.driver.Add({rig.Readable(4)});
  { auto chain = rig.Take(); }
  EXPECT_TRUE(rig.device->Publish());
}

TEST(SplitQueue, EventIndexInterruptsWhenTheEventIsPassed) {
  Rig rig(kFeatures | kFeatureRingEventIdx);
  const auto answer_one = [&] {
    rig.driver.Add({rig.Readable(4)});
    { auto chain = rig.Take(); }
    return rig.device->Publish();
  };
  EXPECT_TRUE(rig.driver.ArmInterrupt());
  EXPECT_TRUE(answer_one());                // passes event 0
  EXPECT_FALSE(answer_one());               // the driver has not asked again
  EXPECT_FALSE(rig.driver.ArmInterrupt());  // two answers wait
  EXPECT_TRUE(rig.driver.TakeUsed());
  EXPECT_TRUE(rig.driver.TakeUsed());
  EXPECT_TRUE(rig.driver.ArmInterrupt());
  EXPECT_TRUE(answer_one());
}

}  // namespace
}  // namespace skiff::virtio
