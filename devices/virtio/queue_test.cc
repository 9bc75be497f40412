#include "devices/virtio/queue.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <string>
#include <vector>

#include "tests/fakes/driver_queue.h"

namespace skiff::virtio {
namespace {

using fakes::DriverBuffer;
using fakes::DriverQueue;
using fakes::GuestRam;

constexpr uint16_t kSize = 16;
constexpr uint64_t kFeatures = kFeatureVersion1 | kFeatureRingIndirectDesc;

// A queue from both ends.
struct Rig {
  explicit Rig(uint64_t features = kFeatures, uint16_t max_size = kSize,
               uint64_t bytes = 4 * 1024 * 1024)
      : ram(bytes),
        driver(ram, kSize, features),
        device(std::move(SplitQueue::Open(ram.memory(), driver.layout(), max_size, features))
                   .value()) {}

  // The next chain, which must be there.
  DescriptorChain Take() {
    auto popped = device->Pop();
    if (!popped.ok() || !popped->has_value()) {
      ADD_FAILURE() << (popped.ok() ? "nothing available" : popped.error().message());
      std::abort();
    }
    return std::move(**popped);
  }
  bool Empty() {
    auto popped = device->Pop();
    return popped.ok() && !popped->has_value();
  }

  DriverBuffer Readable(uint32_t length) { return {ram.Allocate(length), length, false}; }
  DriverBuffer Writable(uint32_t length) { return {ram.Allocate(length), length, true}; }

  GuestRam ram;
  DriverQueue driver;
  std::unique_ptr<SplitQueue> device;
};

// --- layout ---

struct LayoutCase {
  const char* name;
  void (*spoil)(QueueLayout&, const GuestRam&);
};

const LayoutCase kBadLayouts[] = {
    {"SizeZero", [](QueueLayout& l, const GuestRam&) { l.size = 0; }},
    {"SizeNotPowerOfTwo", [](QueueLayout& l, const GuestRam&) { l.size = 12; }},
    {"SizeAboveMaximum", [](QueueLayout& l, const GuestRam&) { l.size = 2 * kSize; }},
    {"DescriptorsUnaligned",
     [](QueueLayout& l, const GuestRam&) { l.descriptor_area = l.descriptor_area + 8; }},
    {"DriverAreaUnaligned",
     [](QueueLayout& l, const GuestRam&) { l.driver_area = l.driver_area + 1; }},
    {"DeviceAreaUnaligned",
     [](QueueLayout& l, const GuestRam&) { l.device_area = l.device_area + 2; }},
    {"DescriptorsPastTheEnd",
     [](QueueLayout& l, const GuestRam& ram) {
       l.descriptor_area = GuestAddr(ram.end().value() - DescriptorAreaBytes(kSize) + 16);
     }},
    {"DriverAreaPastTheEnd",
     [](QueueLayout& l, const GuestRam& ram) {
       l.driver_area = GuestAddr(ram.end().value() - DriverAreaBytes(kSize) + 2);
     }},
    {"DeviceAreaPastTheEnd",
     [](QueueLayout& l, const GuestRam& ram) {
       l.device_area = GuestAddr((ram.end().value() - DeviceAreaBytes(kSize) + 4) & ~3ULL);
     }},
    {"DescriptorsBelowMemory",
     [](QueueLayout& l, const GuestRam&) { l.descriptor_area = GuestAddr(0); }},
    {"DeviceAreaWraps",
     [](QueueLayout& l, const GuestRam&) { l.device_area = GuestAddr(~uint64_t{3}); }},
};

class BadLayout : public testing::TestWithParam<LayoutCase> {};

TEST_P(BadLayout, IsRefused) {
  GuestRam ram;
  QueueLayout layout = DriverQueue(ram, kSize, kFeatures).layout();
  ASSERT_TRUE(SplitQueue::Open(ram.memory(), layout, kSize, kFeatures).ok());
  GetParam().spoil(layout, ram);
  EXPECT_FALSE(SplitQueue::Open(ram.memory(), layout, kSize, kFeatures).ok());
}

INSTANTIATE_TEST_SUITE_P(, BadLayout, testing::ValuesIn(kBadLayouts),
                         [](const auto& tested) { return std::string(tested.param.name); });

TEST(SplitQueue, AreasMayEndWithMemory) {
  GuestRam ram;
  QueueLayout layout = DriverQueue(ram, kSize, kFeatures).layout();
  layout.descriptor_area = GuestAddr(ram.end().value() - DescriptorAreaBytes(kSize));
  EXPECT_TRUE(SplitQueue::Open(ram.memory(), layout, kSize, kFeatures).ok());
}

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

// --- chains whose frame is broken: the queue stops ---

struct Descriptors {
  VirtqDesc Table(GuestRam& ram, std::vector<VirtqDesc> inner, uint32_t bytes) const {
    const GuestAddr table = ram.Place(std::as_bytes(std::span(inner)));
    return {.addr = table.value(), .len = bytes, .flags = kDescIndirect, .next = {}};
  }
  VirtqDesc Buffer(GuestRam& ram, uint16_t flags, uint16_t next) const {
    return {.addr = ram.Allocate(16).value(), .len = 16U, .flags = flags, .next = next};
  }
};

struct FrameCase {
  const char* name;
  void (*build)(Rig&, const Descriptors&);
};

const FrameCase kBrokenFrames[] = {
    {"AvailableIndexTooFarAhead",  // B-02
     [](Rig& rig, const Descriptors&) { rig.driver.SetAvailableIndex(kSize + 5); }},
    {"AvailableIndexGoesBack",
     [](Rig& rig, const Descriptors&) { rig.driver.SetAvailableIndex(0xffff); }},
    {"HeadOutsideTheTable", [](Rig& rig, const Descriptors&) { rig.driver.Offer(kSize); }},
    {"NextOutsideTheTable",
     [](Rig& rig, const Descriptors& d) {
       rig.driver.SetDescriptor(0, d.Buffer(rig.ram, kDescNext, kSize));
       rig.driver.Offer(0);
     }},
    {"PointsAtItself",
     [](Rig& rig, const Descriptors& d) {
       rig.driver.SetDescriptor(0, d.Buffer(rig.ram, kDescNext, 0));
       rig.driver.Offer(0);
     }},
    {"LoopOfTwo",
     [](Rig& rig, const Descriptors& d) {
       rig.driver.SetDescriptor(0, d.Buffer(rig.ram, kDescNext, 1));
       rig.driver.SetDescriptor(1, d.Buffer(rig.ram, kDescNext, 0));
       rig.driver.Offer(0);
     }},
    {"LoopOfEmptyBuffers",
     [](Rig& rig, const Descriptors&) {
       rig.driver.SetDescriptor(0, {.addr = {}, .len = {}, .flags = kDescNext, .next = {}});
       rig.driver.Offer(0);
     }},
    {"IndirectInsideIndirect",
     [](Rig& rig, const Descriptors& d) {
       const auto inner = d.Table(rig.ram, {d.Buffer(rig.ram, 0, 0)}, 16);
       rig.driver.SetDescriptor(0, d.Table(rig.ram, {inner}, 16));
       rig.driver.Offer(0);
     }},
    {"IndirectWithNext",
     [](Rig& rig, const Descriptors& d) {
       VirtqDesc table = d.Table(rig.ram, {d.Buffer(rig.ram, 0, 0)}, 16);
       table.flags = uint16_t{kDescIndirect | kDescNext};
       rig.driver.SetDescriptor(0, table);
       rig.driver.Offer(0);
     }},
    {"IndirectLengthNotMultipleOf16",
     [](Rig& rig, const Descriptors& d) {
       rig.driver.SetDescriptor(
           0, d.Table(rig.ram, {d.Buffer(rig.ram, 0, 0), d.Buffer(rig.ram, 0, 0)}, 24));
       rig.driver.Offer(0);
     }},
    {"IndirectLengthZero",
     [](Rig& rig, const Descriptors& d) {
       rig.driver.SetDescriptor(0, d.Table(rig.ram, {d.Buffer(rig.ram, 0, 0)}, 0));
       rig.driver.Offer(0);
     }},
    {"IndirectLengthHuge",
     [](Rig& rig, const Descriptors& d) {
       rig.driver.SetDescriptor(0, d.Table(rig.ram, {d.Buffer(rig.ram, 0, 0)}, 0xfffffff0));
       rig.driver.Offer(0);
     }},
    {"IndirectTableOutsideMemory",
     [](Rig& rig, const Descriptors&) {
       rig.driver.SetDescriptor(
           0, {.addr = rig.ram.end().value() - 16, .len = 32U, .flags = kDescIndirect, .next = {}});
       rig.driver.Offer(0);
     }},
    {"IndirectNextOutsideItsTable",
     [](Rig& rig, const Descriptors& d) {
       rig.driver.SetDescriptor(0, d.Table(rig.ram, {d.Buffer(rig.ram, kDescNext, 1)}, 16));
       rig.driver.Offer(0);
     }},
    {"IndirectLoop",
     [](Rig& rig, const Descriptors& d) {
       rig.driver.SetDescriptor(
           0, d.Table(rig.ram, {d.Buffer(rig.ram, kDescNext, 1), d.Buffer(rig.ram, kDescNext, 0)},
                      32));
       rig.driver.Offer(0);
     }},
    {"ChainInUseOfferedAgain",
     [](Rig& rig, const Descriptors& d) {
       rig.driver.SetDescriptor(0, d.Buffer(rig.ram, 0, 0));
       rig.driver.Offer(0);
       rig.driver.Offer(0);
       auto first = rig.Take();
       EXPECT_FALSE(rig.device->Pop().ok());
     }},
};

class BrokenFrame : public testing::TestWithParam<FrameCase> {};

TEST_P(BrokenFrame, StopsTheQueue) {
  Rig rig;
  GetParam().build(rig, Descriptors());
  EXPECT_FALSE(rig.device->Pop().ok());
  EXPECT_FALSE(rig.device->Pop().ok());
}

INSTANTIATE_TEST_SUITE_P(, BrokenFrame, testing::ValuesIn(kBrokenFrames),
                         [](const auto& tested) { return std::string(tested.param.name); });

TEST(SplitQueue, IndirectWithoutTheFeatureIsRefused) {
  Rig rig(kFeatureVersion1);
  rig.driver.AddIndirect(std::vector<DriverBuffer>{rig.Readable(16)});
  EXPECT_FALSE(rig.device->Pop().ok());
}

// --- chains whose frame is sound and whose buffers are not: one request fails ---

TEST(SplitQueue, BufferOneBytePastMemoryIsFaulty) {  // B-05
  Rig rig;
  const DriverBuffer status = rig.Writable(1);
  rig.driver.Add({rig.Readable(16), {GuestAddr(rig.ram.end().value() - 511), 512, true}, status});
  {
    auto chain = rig.Take();
    EXPECT_TRUE(chain.faulty);
    EXPECT_TRUE(chain.readable.empty());
    ASSERT_EQ(chain.writable.size(), 1U);
    EXPECT_EQ(chain.writable[0].size(), 1U);
  }
  rig.driver.Add({rig.Readable(16), rig.Writable(1)});
  EXPECT_FALSE(rig.Take().faulty);
}

TEST(SplitQueue, BufferThatEndsWithMemoryIsSound) {
  Rig rig;
  rig.driver.Add({{GuestAddr(rig.ram.end().value() - 512), 512, true}});
  EXPECT_FALSE(rig.Take().faulty);
}

TEST(SplitQueue, WrappingBufferIsFaulty) {
  Rig rig;
  rig.driver.Add({{GuestAddr(~uint64_t{0} - 4), 512, false}, rig.Writable(1)});
  EXPECT_TRUE(rig.Take().faulty);
}

TEST(SplitQueue, ReadableBehindWritableIsFaulty) {
  Rig rig;
  rig.driver.Add({rig.Readable(16), rig.Writable(1), rig.Readable(16)});
  EXPECT_TRUE(rig.Take().faulty);
}

TEST(SplitQueue, UnusableLastBufferLeavesNoPlaceForAStatus) {
  Rig rig;
  rig.driver.Add({rig.Readable(16), rig.Writable(16), {rig.ram.end(), 1, true}});
  const auto chain = rig.Take();
  EXPECT_TRUE(chain.faulty);
  EXPECT_TRUE(chain.writable.empty());
}

TEST(SplitQueue, MoreThan4GiBIsFaulty) {
  const uint32_t half_gib = 1U << 29;
  Rig rig(kFeatures, kSize, 2ULL * half_gib);  // never touched, so it costs nothing
  const DriverBuffer buffer{GuestAddr(rig.ram.end().value() - half_gib), half_gib, true};
  rig.driver.Add(std::vector<DriverBuffer>(7, buffer));
  EXPECT_FALSE(rig.Take().faulty);
  rig.driver.Add(std::vector<DriverBuffer>(8, buffer));
  EXPECT_TRUE(rig.Take().faulty);
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
