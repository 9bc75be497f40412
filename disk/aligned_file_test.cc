#include "disk/aligned_file.h"

#include <gtest/gtest.h>

#include <thread>
#include <vector>

#include "base/arith.h"
#include "disk/random_file_ops.h"
#include "tests/fakes/faulty_file.h"
#include "tests/fakes/memory_file.h"

namespace skiff {
namespace {

using fakes::MemoryFile;

FileFacts Demanding(uint32_t memory, uint32_t block) {
  FileFacts facts = MemoryFile::DefaultFacts();
  facts.required = {memory, block};
  facts.preferred = facts.required;
  return facts;
}

struct Demand {
  uint32_t memory;
  uint32_t block;
  uint64_t size;
};

class AnyAlignment : public testing::TestWithParam<Demand> {};

TEST_P(AnyAlignment, RandomTransfersMatchAModel) {
  const Demand& demand = GetParam();
  AlignedFile file(
      std::make_unique<MemoryFile>(demand.size, Demanding(demand.memory, demand.block)));
  EXPECT_EQ(file.facts().required.block, 1u);
  EXPECT_EQ(file.facts().preferred.block, demand.block);
  RandomFileOps(file, 600'000, 1, 1).Run(100);
}

TEST_P(AnyAlignment, RandomSectorsMatchAModel) {
  const Demand& demand = GetParam();
  AlignedFile file(
      std::make_unique<MemoryFile>(demand.size, Demanding(demand.memory, demand.block)));
  RandomFileOps(file, 1 * kMiB, 512, 2).Run(100);
}

INSTANTIATE_TEST_SUITE_P(, AnyAlignment,
                         testing::Values(Demand{512, 512, 0}, Demand{4, 512, 300'000},
                                         Demand{512, 4096, 1000}, Demand{4096, 4096, 1 * kMiB}),
                         [](const auto& test) {
                           return "Memory" + std::to_string(test.param.memory) + "Block" +
                                  std::to_string(test.param.block) + "Size" +
                                  std::to_string(test.param.size);
                         });

// eight writers, each with its own sector of the same block.
TEST(AlignedFile, WritersOfOneBlockDoNotUndoEachOther) {
  AlignedFile file(std::make_unique<MemoryFile>(8192, Demanding(512, 4096)));
  std::vector<std::thread> writers;
  for (uint64_t sector = 0; sector < 8; ++sector) {
    writers.emplace_back([&file, sector] {
      for (int round = 1; round <= 200; ++round) {
        std::vector<std::byte> bytes(512, static_cast<std::byte>(round));
        ASSERT_TRUE(WriteBytes(file, FileOffset(4096 + sector * 512), bytes).ok());
        ASSERT_TRUE(ReadBytes(file, FileOffset(4096 + sector * 512), bytes).ok());
        ASSERT_EQ(bytes[0], static_cast<std::byte>(round));
        ASSERT_EQ(bytes[511], static_cast<std::byte>(round));
      }
    });
  }
  for (std::thread& writer : writers) writer.join();
}

// The same with a neighbour whose writes are aligned and so pass straight through.
TEST(AlignedFile, AlignedWritesAreNotUndoneByUnalignedOnes) {
  AlignedFile file(std::make_unique<MemoryFile>(8192, Demanding(1, 512)));
  std::thread unaligned([&] {
    std::vector<std::byte> bytes(512 + 10, std::byte{1});
    for (int i = 0; i < 500; ++i)
      ASSERT_TRUE(WriteBytes(file, FileOffset(0), std::span(bytes).first(10)).ok());
  });
  for (int i = 0; i < 500; ++i) {
    std::vector<std::byte> bytes(512, static_cast<std::byte>(i));
    std::vector<std::byte> got(502);
    ASSERT_TRUE(WriteBytes(file, FileOffset(0), bytes).ok());
    ASSERT_TRUE(ReadBytes(file, FileOffset(10), got).ok());
    ASSERT_EQ(got[0], static_cast<std::byte>(i));
  }
  unaligned.join();
}

TEST(AlignedFile, GrowsByExactlyWhatIsWritten) {
  auto memory = std::make_unique<MemoryFile>(1000, Demanding(512, 4096));
  MemoryFile& inner = *memory;
  AlignedFile file(std::move(memory));
  const std::vector<std::byte> bytes(24, std::byte{7});
  ASSERT_TRUE(WriteBytes(file, FileOffset(1000), bytes).ok());
  EXPECT_EQ(inner.size(), 1024u);
  ASSERT_TRUE(WriteBytes(file, FileOffset(0), bytes).ok());
  EXPECT_EQ(inner.size(), 1024u);
  ASSERT_TRUE(WriteBytes(file, FileOffset(5000), bytes).ok());
  EXPECT_EQ(inner.size(), 5024u);
}

TEST(AlignedFile, DiscardsOnlyBlocksThatAreWhollyMeant) {
  auto memory = std::make_unique<MemoryFile>(16384, Demanding(512, 4096));
  MemoryFile& inner = *memory;
  inner.SetBytes(std::vector<std::byte>(16384, std::byte{1}));
  AlignedFile file(std::move(memory));
  ASSERT_TRUE(file.Discard(FileRange::Make(FileOffset(4000), 4300).value()).ok());
  const std::vector<std::byte> bytes = inner.Bytes();
  EXPECT_EQ(bytes[4095], std::byte{1});
  EXPECT_NE(bytes[4096], std::byte{1});
  EXPECT_NE(bytes[8191], std::byte{1});
  EXPECT_EQ(bytes[8192], std::byte{1});
  ASSERT_TRUE(file.Discard(FileRange::Make(FileOffset(100), 200).value()).ok());
  EXPECT_EQ(inner.Bytes(), bytes);
}

TEST(AlignedFile, FailuresOfThePartialBlockComeThrough) {
  MemoryFile memory(8192, Demanding(512, 4096));
  auto faulty_owner = std::make_unique<fakes::FaultyFile>(memory);
  fakes::FaultyFile& faulty = *faulty_owner;
  AlignedFile file(std::move(faulty_owner));
  const std::vector<std::byte> bytes(512, std::byte{1});
  faulty.Fail(fakes::FileOp::kRead, EIO);
  EXPECT_FALSE(WriteBytes(file, FileOffset(512), bytes).ok());
  EXPECT_EQ(memory.Bytes(), std::vector<std::byte>(8192));  // nothing half done
  faulty.Fail(fakes::FileOp::kWrite, ENOSPC);
  const Result<void> written = WriteBytes(file, FileOffset(512), bytes);
  ASSERT_FALSE(written.ok());
  EXPECT_EQ(written.error().code(), ErrorCode::kNoSpace);
}

TEST(AlignedFile, RefusesPositionsThatWrap) {
  AlignedFile file(std::make_unique<MemoryFile>(4096, Demanding(512, 4096)));
  std::vector<std::byte> bytes(100);
  EXPECT_FALSE(ReadBytes(file, FileOffset(UINT64_MAX - 100), bytes).ok());
  EXPECT_FALSE(WriteBytes(file, FileOffset(UINT64_MAX - 50), bytes).ok());
}

}  // namespace
}  // namespace skiff
