#include "disk/raw/raw_image.h"

#include <gtest/gtest.h>

#include "base/arith.h"
#include "tests/fakes/memory_file.h"

namespace skiff {
namespace {

using fakes::MemoryFile;

DiskRange At(uint64_t start, uint64_t length) {
  return DiskRange::Make(DiskOffset(start), length).value();
}

TEST(RawImage, SizesAreRoundedUpToSectors) {  // no byte of the file is hidden
  const std::pair<uint64_t, uint64_t> sizes[] = {
      {0, 0}, {1, 512}, {512, 512}, {1000, 1024}, {3'000'000, 3'000'320}};
  for (const auto& [file_size, disk_size] : sizes) {
    auto image = RawImage::Open(std::make_unique<MemoryFile>(file_size));
    EXPECT_EQ(image.value()->limits().size, disk_size);
  }
}

TEST(RawImage, LimitsFollowTheFile) {
  FileFacts facts;
  facts.preferred = {512, 4096};
  auto plain = RawImage::Open(std::make_unique<MemoryFile>(1 * kMiB, facts));
  const BlockLimits& limits = plain.value()->limits();
  EXPECT_EQ(limits.logical_block, 512u);
  EXPECT_EQ(limits.physical_block, 4096u);
  EXPECT_EQ(limits.buffer_alignment, 512u);
  EXPECT_EQ(limits.discard_granularity, 0u);
  EXPECT_EQ(limits.max_discard, 0u);
  EXPECT_EQ(limits.max_zero_length, 16 * kMiB);

  facts.discard_granularity = 4096;
  facts.quick_zero = true;
  auto able = RawImage::Open(std::make_unique<MemoryFile>(1 * kMiB, facts));
  EXPECT_EQ(able.value()->limits().discard_granularity, 4096u);
  EXPECT_GT(able.value()->limits().max_discard, 0u);
  EXPECT_GT(able.value()->limits().max_zero_length, 16 * kMiB);

  facts.read_only = true;
  auto read_only = RawImage::Open(std::make_unique<MemoryFile>(1 * kMiB, facts));
  EXPECT_TRUE(read_only.value()->limits().read_only);
  EXPECT_EQ(read_only.value()->limits().max_discard, 0u);
  EXPECT_EQ(read_only.value()->limits().max_zero_length, 0u);
}

TEST(RawImage, PlansAreTheIdentity) {
  auto image = RawImage::Open(std::make_unique<MemoryFile>(1 * kMiB)).value();
  const ReadPlan read = image->MapRead(At(1024, 4096)).value();
  ASSERT_EQ(read.covers, 4096u);
  ASSERT_EQ(read.steps.size(), 1u);
  EXPECT_EQ(std::get<ReadFile>(read.steps[0]).source.start(), FileOffset(1024));
  WritePlan write = image->PrepareWrite(At(512, 1024)).value();
  ASSERT_EQ(write.covers, 1024u);
  ASSERT_EQ(write.payload.size(), 1u);
  EXPECT_EQ(write.payload[0].start(), FileOffset(512));
  EXPECT_EQ(write.payload[0].length(), 1024u);
  EXPECT_TRUE(write.fills.empty());
  EXPECT_TRUE(write.Commit().ok());
}

TEST(RawImage, StatusTellsDataFromHoles) {
  auto file = std::make_unique<MemoryFile>(64 * kKiB);
  const std::vector<std::byte> bytes(4096, std::byte{1});
  ASSERT_TRUE(WriteBytes(*file, FileOffset(8192), bytes).ok());
  auto image = RawImage::Open(std::move(file)).value();
  const BlockStatus hole = image->Status(At(0, 64 * kKiB)).value();
  EXPECT_EQ(hole.state, BlockState::kZero);
  EXPECT_EQ(hole.length, 8192u);
  const BlockStatus data = image->Status(At(8192, 32 * kKiB)).value();
  EXPECT_EQ(data.state, BlockState::kData);
  EXPECT_EQ(data.length, 4096u);
  EXPECT_EQ(data.file_offset, FileOffset(8192));
}

}  // namespace
}  // namespace skiff
