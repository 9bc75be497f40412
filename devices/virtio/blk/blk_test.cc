#include "devices/virtio/blk/blk.h"

#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <vector>

#include "tests/fakes/disk_rig.h"

namespace skiff::virtio {
namespace {

using fakes::DiskOutcome;
using fakes::DiskRig;
using fakes::DiskRigOptions;
using fakes::DriverBuffer;

constexpr uint64_t kBytes = 1024 * 1024;
constexpr uint64_t kSectors = kBytes / 512;
constexpr DiskOutcome kOk{kBlkStatusOk, 1};
constexpr DiskOutcome kIoErr{kBlkStatusIoErr, 1};
constexpr DiskOutcome kUnsupp{kBlkStatusUnsupp, 1};

std::vector<std::byte> Pattern(size_t length, uint8_t seed) {
  std::vector<std::byte> bytes(length);
  for (size_t i = 0; i < length; ++i) bytes[i] = std::byte(static_cast<uint8_t>(i * 7 + seed));
  return bytes;
}

std::vector<std::byte> Slice(const std::vector<std::byte>& bytes, size_t start, size_t length) {
  const auto first = bytes.begin() + static_cast<ptrdiff_t>(start);
  return {first, first + static_cast<ptrdiff_t>(length)};
}

// A discard or write-zeroes segment.
BlkDiscardWriteZeroes Segment(uint64_t sector, uint32_t sectors, uint32_t flags = 0) {
  return {.sector = sector, .num_sectors = sectors, .flags = flags};
}

std::optional<DiskOutcome> Ranges(DiskRig& rig, BlkRequestType type,
                                  std::vector<BlkDiscardWriteZeroes> segments) {
  return rig.Command(type, std::as_bytes(std::span(segments)));
}

DiskRigOptions ReadOnly() {
  DiskRigOptions options;
  options.limits.read_only = true;
  options.blk.serial = "data0";
  return options;
}

// --- what the driver finds ---

TEST(Blk, DescribesTheDisk) {
  DiskRigOptions options;
  options.limits.logical_block = 512;
  options.limits.physical_block = 4096;
  options.limits.optimal_io = 65536;
  options.limits.discard_granularity = 65536;
  DiskRig rig(options);
  const uint64_t expected = kBlkFeatureSegMax | kBlkFeatureBlkSize | kBlkFeatureTopology |
                            kBlkFeatureFlush | kBlkFeatureDiscard | kBlkFeatureWriteZeroes;
  EXPECT_EQ(rig.blk->offered_features(), expected);
  const BlkConfig config = rig.Config();
  EXPECT_EQ(config.capacity, kSectors);
  EXPECT_EQ(config.seg_max, 254U);
  EXPECT_EQ(config.blk_size, 512U);
  EXPECT_EQ(config.topology.physical_block_exp, 3);
  EXPECT_EQ(config.topology.min_io_size, 8);
  EXPECT_EQ(config.topology.opt_io_size, 128U);
  EXPECT_EQ(config.max_discard_sectors, (1U << 30) / 512);  // B-15: no limit is zero
  EXPECT_EQ(config.max_discard_seg, 1U);
  EXPECT_EQ(config.discard_sector_alignment, 128U);
  EXPECT_EQ(config.max_write_zeroes_sectors, (1U << 30) / 512);
  EXPECT_EQ(config.max_write_zeroes_seg, 1U);
  EXPECT_EQ(config.write_zeroes_may_unmap, 1);
}

TEST(Blk, SegmentLimitAtTheQueueSizeOf128) {  // B-14
  DiskRigOptions options;
  options.blk.queue_size = 128;
  EXPECT_EQ(DiskRig(options).Config().seg_max, 126U);
}

TEST(Blk, LimitsBeyondTheFieldsAreCut) {
  DiskRigOptions options;
  options.limits.max_discard = UINT64_MAX;
  options.limits.max_zero_length = UINT64_MAX;
  DiskRig rig(options);
  EXPECT_EQ(rig.Config().max_discard_sectors, UINT32_MAX);
  EXPECT_EQ(rig.Config().max_write_zeroes_sectors, UINT32_MAX);
}

TEST(Blk, OffersDiscardOnlyWhereItWorks) {  // B-15
  constexpr uint64_t kBoth = kBlkFeatureDiscard | kBlkFeatureWriteZeroes;
  EXPECT_EQ(DiskRig(ReadOnly()).blk->offered_features() & kBoth, 0U);
  DiskRigOptions unable;
  unable.limits.discard_granularity = 0;
  unable.limits.max_zero_length = 0;
  DiskRig rig(unable);
  EXPECT_EQ(rig.blk->offered_features() & kBoth, 0U);
  EXPECT_EQ(rig.Config().max_discard_sectors, 0U);
  EXPECT_EQ(Ranges(rig, BlkRequestType::kDiscard, {Segment(0, 1)}), kUnsupp);
  EXPECT_EQ(Ranges(rig, BlkRequestType::kWriteZeroes, {Segment(0, 1)}), kUnsupp);
  DiskRigOptions unwanted;
  unwanted.blk.offer_discard = false;
  EXPECT_EQ(DiskRig(unwanted).blk->offered_features() & kBoth, 0U);
}

TEST(Blk, RefusesOptionsThatCannotBe) {
  const auto make = [](BlkOptions options) {
    auto state = std::make_shared<fakes::MemoryDiskState>(kBytes);
    return Blk::Make(
               std::make_unique<fakes::MemoryDisk>(state, fakes::MemoryDisk::DefaultLimits(kBytes)),
               std::move(options))
        .ok();
  };
  EXPECT_TRUE(make({.serial = std::string(20, 'x')}));
  EXPECT_FALSE(make({.serial = std::string(21, 'x')}));
  EXPECT_FALSE(make({.queue_count = 0}));
  EXPECT_FALSE(make({.queue_size = 100}));
  EXPECT_FALSE(make({.queue_size = 2}));
}

// --- moving data ---

TEST(Blk, WritesAndReadsBack) {
  DiskRig rig;
  EXPECT_FALSE(rig.blk->touched());
  const auto bytes = Pattern(8192, 1);
  const GuestAddr data = rig.ram.Place(bytes);
  EXPECT_EQ(rig.Write(10, data, 8192), kOk);
  EXPECT_EQ(Slice(rig.disk->Bytes(), 5120, 8192), bytes);
  const GuestAddr back = rig.ram.Allocate(8192);
  EXPECT_EQ(rig.Read(10, back, 8192), (DiskOutcome{kBlkStatusOk, 8193}));
  EXPECT_EQ(rig.ram.Read(back, 8192), bytes);
  EXPECT_TRUE(rig.blk->touched());
  EXPECT_EQ(rig.blk->statistics().requests, 2U);
  EXPECT_EQ(rig.blk->statistics().written_bytes, 8192U);
  EXPECT_EQ(rig.blk->statistics().read_bytes, 8192U);
}

TEST(Blk, ChecksTheCapacity) {  // B-03
  DiskRig rig;
  const auto before = rig.disk->Bytes();
  const GuestAddr data = rig.ram.Place(Pattern(1024, 3));
  EXPECT_EQ(rig.Write(kSectors - 2, data, 1024), kOk);
  for (const uint64_t sector :
       {kSectors - 1, kSectors, kSectors + 1, uint64_t{1} << 40, uint64_t{1} << 55,
        (uint64_t{1} << 55) + 1, UINT64_MAX / 512, UINT64_MAX}) {
    EXPECT_EQ(rig.Write(sector, data, 1024), kIoErr) << sector;
    EXPECT_EQ(rig.Read(sector, data, 1024), kIoErr) << sector;
  }
  EXPECT_EQ(rig.disk->Events().size(), 1U);
  EXPECT_EQ(rig.ram.Read(data, 1024), Pattern(1024, 3));
  EXPECT_EQ(rig.blk->statistics().failures, 16U);
}

TEST(Blk, LengthsAreWholeSectors) {
  DiskRig rig;
  const GuestAddr data = rig.ram.Allocate(1024);
  EXPECT_EQ(rig.Read(0, data, 511), kIoErr);
  EXPECT_EQ(rig.Write(0, data, 513), kIoErr);
}

TEST(Blk, SectorsHave512BytesWhateverTheBlockSize) {
  DiskRigOptions options;
  options.limits.logical_block = 4096;
  DiskRig rig(options);
  EXPECT_EQ(rig.Config().blk_size, 4096U);
  rig.disk->SetBytes(0, std::vector<std::byte>(kBytes, std::byte{1}));
  EXPECT_EQ(Ranges(rig, BlkRequestType::kDiscard, {Segment(8, 8)}), kOk);
  const auto bytes = rig.disk->Bytes();
  EXPECT_EQ(Slice(bytes, 4096, 4096), std::vector<std::byte>(4096));
  EXPECT_EQ(bytes[4095], std::byte{1});
  EXPECT_EQ(bytes[8192], std::byte{1});
  const GuestAddr data = rig.ram.Allocate(4096);
  EXPECT_EQ(rig.Read(1, data, 4096), kIoErr) << "finer than the disk can be addressed";
}

TEST(Blk, DataOnTheWrongSideFails) {  // B-05
  DiskRig rig;
  const GuestAddr data = rig.ram.Allocate(512);
  const auto before = rig.ram.Read(data, 512);
  EXPECT_EQ(rig.Run({rig.Header(BlkRequestType::kIn, 0), {data, 512, false}, rig.Status()}),
            kIoErr);
  EXPECT_EQ(rig.Run({rig.Header(BlkRequestType::kOut, 0), {data, 512, true}, rig.Status()}),
            kIoErr);
  EXPECT_EQ(rig.Run({rig.Header(BlkRequestType::kIn, 0),
                     {data, 512, false},
                     {data, 512, true},
                     rig.Status()}),
            kIoErr);
  EXPECT_TRUE(rig.disk->Events().empty());
  EXPECT_EQ(rig.ram.Read(data, 512), before);
}

TEST(Blk, ReadOnlyDiskRefusesWritesAndGoesOn) {  // B-07
  DiskRig rig(ReadOnly());
  EXPECT_NE(rig.blk->offered_features() & kBlkFeatureRo, 0U);
  const GuestAddr data = rig.ram.Place(Pattern(512, 5));
  EXPECT_EQ(rig.Write(0, data, 512), kIoErr);
  EXPECT_EQ(Ranges(rig, BlkRequestType::kDiscard, {Segment(0, 1)}), kIoErr);
  EXPECT_EQ(Ranges(rig, BlkRequestType::kWriteZeroes, {Segment(0, 1)}), kIoErr);
  EXPECT_TRUE(rig.disk->Events().empty());
  EXPECT_EQ(rig.Read(0, data, 512), (DiskOutcome{kBlkStatusOk, 513}));
}

TEST(Blk, GivesItsSerialOnReadOnlyDisksToo) {  // B-08
  DiskRig rig(ReadOnly());
  const GuestAddr id = rig.ram.Allocate(20);
  rig.ram.Fill(id, 20, 0xee);
  EXPECT_EQ(rig.Run({rig.Header(BlkRequestType::kGetId, 0), {id, 20, true}, rig.Status()}),
            (DiskOutcome{kBlkStatusOk, 21}));
  std::vector<std::byte> expected(20);
  std::memcpy(expected.data(), "data0", 5);
  EXPECT_EQ(rig.ram.Read(id, 20), expected);
  // Less room, no room, too much room.
  EXPECT_EQ(rig.Run({rig.Header(BlkRequestType::kGetId, 0), {id, 4, true}, rig.Status()}),
            (DiskOutcome{kBlkStatusOk, 5}));
  EXPECT_EQ(rig.Run({rig.Header(BlkRequestType::kGetId, 0), rig.Status()}), kOk);
  EXPECT_EQ(
      rig.Run(
          {rig.Header(BlkRequestType::kGetId, 0), {rig.ram.Allocate(64), 64, true}, rig.Status()}),
      (DiskOutcome{kBlkStatusOk, 20}));
}

TEST(Blk, UnknownRequestsAreUnsupported) {
  DiskRig rig;
  for (const uint32_t type : {2U, 3U, 10U, 14U, 15U, 0x80000000U, UINT32_MAX})
    EXPECT_EQ(rig.Run({rig.Header(static_cast<BlkRequestType>(type), 0), rig.Status()}), kUnsupp);
}

// --- flushes ---

TEST(Blk, FlushReachesTheDiskAndItsErrorTheDriver) {  // B-10
  DiskRig rig;
  EXPECT_EQ(rig.Write(0, rig.ram.Allocate(512), 512), kOk);
  EXPECT_EQ(rig.Flush(), kOk);
  const auto events = rig.disk->Events();
  ASSERT_EQ(events.size(), 2U);
  EXPECT_FALSE(events[0].force_unit_access);
  EXPECT_EQ(events[1].op, BlockOp::kFlush);
  EXPECT_EQ(rig.blk->statistics().flushes, 1U);
  rig.disk->Fail(BlockOp::kFlush, ErrorCode::kIo);
  EXPECT_EQ(rig.Flush(), kIoErr);
  EXPECT_EQ(rig.blk->statistics().flushes, 1U);
}

TEST(Blk, WritesAreDurableWhereTheDriverCannotFlush) {
  DiskRigOptions refused;
  refused.refused_features = kBlkFeatureFlush;
  DiskRigOptions write_through;
  write_through.blk.write_through = true;
  for (const DiskRigOptions& options : {refused, write_through}) {
    DiskRig rig(options);
    EXPECT_EQ(rig.features & kBlkFeatureFlush, 0U);
    EXPECT_EQ(rig.Write(0, rig.ram.Allocate(512), 512), kOk);
    EXPECT_EQ(Ranges(rig, BlkRequestType::kWriteZeroes, {Segment(0, 1)}), kOk);
    for (const auto& event : rig.disk->Events()) EXPECT_TRUE(event.force_unit_access);
  }
}

// --- errors of the disk ---

TEST(Blk, DiskErrorsBecomeStatusBytes) {
  DiskRig rig;
  rig.disk->Fail(BlockOp::kRead, ErrorCode::kIo);
  rig.disk->Fail(BlockOp::kWrite, ErrorCode::kNoSpace);
  rig.disk->Fail(BlockOp::kDiscard, ErrorCode::kUnsupported);
  const GuestAddr data = rig.ram.Allocate(512);
  EXPECT_EQ(rig.Read(0, data, 512), kIoErr);
  EXPECT_EQ(rig.Write(0, data, 512), kIoErr);
  EXPECT_EQ(Ranges(rig, BlkRequestType::kDiscard, {Segment(0, 1)}), kUnsupp);
  EXPECT_EQ(rig.Flush(), kOk);
}

// --- discard and write-zeroes: B-04 ---

TEST(Blk, DiscardsAndZeroes) {
  DiskRig rig;
  EXPECT_EQ(Ranges(rig, BlkRequestType::kDiscard, {Segment(4, 4)}), kOk);
  EXPECT_EQ(Ranges(rig, BlkRequestType::kWriteZeroes, {Segment(8, 2)}), kOk);
  EXPECT_EQ(Ranges(rig, BlkRequestType::kWriteZeroes,
                   {Segment(kSectors - 1, 1, kBlkWriteZeroesFlagUnmap)}),
            kOk);
  EXPECT_EQ(Ranges(rig, BlkRequestType::kDiscard, {Segment(4, 0)}), kOk);
  const auto events = rig.disk->Events();
  ASSERT_EQ(events.size(), 3U);
  EXPECT_EQ(events[0].op, BlockOp::kDiscard);
  EXPECT_EQ(events[0].start, 2048U);
  EXPECT_EQ(events[0].length, 2048U);
  EXPECT_EQ(events[1].op, BlockOp::kWriteZeroes);
  EXPECT_FALSE(events[1].may_unmap);
  EXPECT_TRUE(events[2].may_unmap);
}

struct RangeCase {
  const char* name;
  std::vector<BlkDiscardWriteZeroes> segments;
  DiskOutcome discard;
  DiskOutcome zeroes;
};

const RangeCase kBadRanges[] = {
    {"OneSectorPastTheEnd", {Segment(kSectors - 1, 2)}, kIoErr, kIoErr},
    {"AtTheEnd", {Segment(kSectors, 1)}, kIoErr, kIoErr},
    {"CountAllOnes", {Segment(0, UINT32_MAX)}, kIoErr, kIoErr},
    {"SectorWraps", {Segment(UINT64_MAX, 1)}, kIoErr, kIoErr},
    {"OneOfSeveralIsBad", {Segment(0, 1), Segment(kSectors, 1)}, kIoErr, kIoErr},
    {"NoSegment", {}, kIoErr, kIoErr},
    {"UnknownFlag", {Segment(0, 1, 2)}, kUnsupp, kUnsupp},
    {"AllFlags", {Segment(0, 1, UINT32_MAX)}, kUnsupp, kUnsupp},
};

class BadRange : public testing::TestWithParam<RangeCase> {};

TEST_P(BadRange, TouchesNothing) {
  DiskRig rig;
  EXPECT_EQ(Ranges(rig, BlkRequestType::kDiscard, GetParam().segments), GetParam().discard);
  EXPECT_EQ(Ranges(rig, BlkRequestType::kWriteZeroes, GetParam().segments), GetParam().zeroes);
  EXPECT_TRUE(rig.disk->Events().empty());
}

INSTANTIATE_TEST_SUITE_P(, BadRange, testing::ValuesIn(kBadRanges),
                         [](const auto& tested) { return std::string(tested.param.name); });

TEST(Blk, DiscardMustNotUnmap) {
  DiskRig rig;
  EXPECT_EQ(Ranges(rig, BlkRequestType::kDiscard, {Segment(0, 1, kBlkWriteZeroesFlagUnmap)}),
            kUnsupp);
}

TEST(Blk, SegmentPayloadOfOddLength) {
  DiskRig rig;
  for (const size_t length : {1U, 15U, 17U, 24U})
    EXPECT_EQ(rig.Command(BlkRequestType::kDiscard, std::vector<std::byte>(length)), kIoErr);
  EXPECT_TRUE(rig.disk->Events().empty());
}

TEST(Blk, RangesAboveTheLimitFail) {
  DiskRigOptions options;
  options.limits.max_discard = 1024;
  options.limits.max_zero_length = 512;
  DiskRig rig(options);
  EXPECT_EQ(Ranges(rig, BlkRequestType::kDiscard, {Segment(0, 2)}), kOk);
  EXPECT_EQ(Ranges(rig, BlkRequestType::kDiscard, {Segment(0, 3)}), kIoErr);
  EXPECT_EQ(Ranges(rig, BlkRequestType::kWriteZeroes, {Segment(0, 2)}), kIoErr);
}

}  // namespace
}  // namespace skiff::virtio
