// Queues and chains that a driver made wrong.

#include "devices/virtio/queue.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/fakes/queue_rig.h"

namespace skiff::virtio {
namespace {

using fakes::DriverBuffer;
using fakes::DriverQueue;
using fakes::GuestRam;
using Rig = fakes::QueueRig;

constexpr uint16_t kSize = fakes::kRigQueueSize;
constexpr uint64_t kFeatures = fakes::kRigFeatures;

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

}  // namespace
}  // namespace skiff::virtio
