#include "disk/engine/blocking_executor.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <string>
#include <vector>

#include "base/arith.h"
#include "disk/raw/raw_image.h"
#include "tests/fakes/faulty_file.h"
#include "tests/fakes/forwarding_file.h"
#include "tests/fakes/memory_file.h"

namespace skiff {
namespace {

using fakes::FaultyFile;
using fakes::FileOp;
using fakes::MemoryFile;

DiskRange At(uint64_t start, uint64_t length) {
  return DiskRange::Make(DiskOffset(start), length).value();
}

// An image over a FaultyFile over memory.
struct RawDisk {
  explicit RawDisk(uint64_t size, const FileFacts& facts = MemoryFile::DefaultFacts())
      : memory(size, facts) {
    auto owned = std::make_unique<FaultyFile>(memory);
    file = owned.get();
    image = RawImage::Open(std::move(owned)).value();
  }
  MemoryFile memory;
  FaultyFile* file;
  std::unique_ptr<RawImage> image;
};

struct Io {
  explicit Io(BlockOp op, DiskRange range, std::byte fill = std::byte{0})
      : bytes(range.length(), fill) {
    buffer = {bytes.data(), bytes.size()};
    request.op = op;
    request.range = range;
    request.buffers = {&buffer, 1};
  }
  std::vector<std::byte> bytes;
  iovec buffer{};
  BlockRequest request;
};

struct BadRequest {
  const char* name;
  BlockOp op;
  uint64_t start;
  uint64_t length;
  uint64_t buffer_length;
  ErrorCode expected;
};

class BrokenLimits : public testing::TestWithParam<BadRequest> {};

TEST_P(BrokenLimits, AreRefused) {
  const BadRequest& bad = GetParam();
  RawDisk disk(4096);
  const BlockingExecutor executor(*disk.image, false);
  std::vector<std::byte> bytes(bad.buffer_length);
  const iovec buffer{bytes.data(), bytes.size()};
  BlockRequest request;
  request.op = bad.op;
  request.range = At(bad.start, bad.length);
  request.buffers = {&buffer, 1};
  const Result<void> checked = executor.Check(request);
  ASSERT_FALSE(checked.ok());
  EXPECT_EQ(checked.error().code(), bad.expected) << checked.error().message();
}

INSTANTIATE_TEST_SUITE_P(
    , BrokenLimits,
    testing::Values(
        BadRequest{"ReadPastEnd", BlockOp::kRead, 3584, 1024, 1024, ErrorCode::kOutOfRange},
        BadRequest{"WriteAtEnd", BlockOp::kWrite, 4096, 512, 512, ErrorCode::kOutOfRange},
        BadRequest{"DiscardPastEnd", BlockOp::kDiscard, 0, 4608, 0, ErrorCode::kOutOfRange},
        BadRequest{"ZeroFarAway", BlockOp::kWriteZeroes, uint64_t{1} << 62, 512, 0,
                   ErrorCode::kOutOfRange},
        BadRequest{"StartInSector", BlockOp::kRead, 100, 512, 512, ErrorCode::kInvalid},
        BadRequest{"LengthInSector", BlockOp::kWrite, 0, 100, 100, ErrorCode::kInvalid},
        BadRequest{"BufferShort", BlockOp::kRead, 0, 1024, 512, ErrorCode::kInvalid},
        BadRequest{"BufferLong", BlockOp::kWrite, 0, 512, 1024, ErrorCode::kInvalid}),
    [](const auto& test) { return std::string(test.param.name); });

TEST(BlockingExecutor, RefusesWhatIsLongerThanTheLimits) {
  FileFacts facts;  // no discard, slow zeroes
  RawDisk disk(64 * kMiB, facts);
  const BlockingExecutor executor(*disk.image, false);
  BlockRequest request;
  request.op = BlockOp::kWriteZeroes;
  request.range = At(0, 16 * kMiB);
  EXPECT_TRUE(executor.Check(request).ok());
  request.range = At(0, 16 * kMiB + 512);
  EXPECT_FALSE(executor.Check(request).ok());
  request.op = BlockOp::kDiscard;
  request.range = At(0, 512);
  EXPECT_EQ(executor.Check(request).error().code(), ErrorCode::kUnsupported);
}

TEST(BlockingExecutor, SyncsOnlyWhereDurabilityIsAsked) {
  struct Case {
    BlockOp op;
    bool force_unit_access;
    bool write_through;
    uint32_t syncs;
  };
  const Case cases[] = {
      {BlockOp::kWrite, false, false, 0},      {BlockOp::kWrite, true, false, 1},
      {BlockOp::kWrite, false, true, 1},       {BlockOp::kWriteZeroes, false, false, 0},
      {BlockOp::kWriteZeroes, true, false, 1}, {BlockOp::kWriteZeroes, false, true, 1},
      {BlockOp::kRead, false, true, 0},        {BlockOp::kFlush, false, false, 1},
      {BlockOp::kDiscard, false, true, 0},
  };
  for (const Case& c : cases) {
    RawDisk disk(4096);
    BlockingExecutor executor(*disk.image, c.write_through);
    Io io(c.op, c.op == BlockOp::kFlush ? DiskRange() : At(0, 4096));
    io.request.force_unit_access = c.force_unit_access;
    ASSERT_TRUE(executor.Perform(io.request).ok());
    EXPECT_EQ(disk.file->Calls(FileOp::kSync), c.syncs) << static_cast<int>(c.op);
  }
}

TEST(BlockingExecutor, AWriteThatCannotBeMadeDurableFails) {
  RawDisk disk(4096);
  BlockingExecutor executor(*disk.image, /*write_through=*/true);
  disk.file->Fail(FileOp::kSync, EIO);
  Io write(BlockOp::kWrite, At(0, 512));
  EXPECT_FALSE(executor.Perform(write.request).ok());
}

TEST(BlockingExecutor, HostErrorsKeepTheirKind) {
  RawDisk disk(4096);
  BlockingExecutor executor(*disk.image, false);
  disk.file->Fail(FileOp::kWrite, ENOSPC);
  Io write(BlockOp::kWrite, At(0, 512));
  EXPECT_EQ(executor.Perform(write.request).error().code(), ErrorCode::kNoSpace);
  disk.file->Fail(FileOp::kRead, EIO);
  Io read(BlockOp::kRead, At(0, 512));
  EXPECT_EQ(executor.Perform(read.request).error().code(), ErrorCode::kIo);
  EXPECT_TRUE(executor.Perform(read.request).ok());
}

TEST(BlockingExecutor, ManySmallBuffersMakeOneTransfer) {
  RawDisk disk(1 * kMiB);
  BlockingExecutor executor(*disk.image, false);
  std::vector<std::byte> bytes(512 * kKiB);
  for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<std::byte>(i * 7);
  std::vector<iovec> buffers;
  for (size_t at = 0; at < bytes.size(); at += 1024) buffers.push_back({&bytes[at], 1024});
  BlockRequest request;
  request.op = BlockOp::kWrite;
  request.range = At(4096, bytes.size());
  request.buffers = buffers;
  ASSERT_TRUE(executor.Perform(request).ok());
  const std::vector<std::byte> content = disk.memory.Bytes();
  EXPECT_TRUE(std::equal(bytes.begin(), bytes.end(), content.begin() + 4096));
  EXPECT_EQ(disk.file->Calls(FileOp::kWrite), 2u);
}

TEST(BlockingExecutor, AtOnceOnlyWithoutWaitingAndOnlyIfNotDurable) {
  auto owned = std::make_unique<MemoryFile>(4096);
  MemoryFile& memory = *owned;
  const auto image = RawImage::Open(std::move(owned)).value();
  BlockingExecutor write_back(*image, false);
  BlockingExecutor write_through(*image, true);
  Io write(BlockOp::kWrite, At(512, 512), std::byte{3});
  Io read(BlockOp::kRead, At(512, 512));
  EXPECT_FALSE(write_back.TryPerform(write.request));
  memory.SetNeverWaits(true);
  EXPECT_FALSE(write_through.TryPerform(write.request));
  EXPECT_TRUE(write_back.TryPerform(write.request));
  EXPECT_TRUE(write_through.TryPerform(read.request));
  EXPECT_EQ(read.bytes, write.bytes);
  write.request.force_unit_access = true;
  EXPECT_FALSE(write_back.TryPerform(write.request));
  BlockRequest flush;
  EXPECT_FALSE(write_back.TryPerform(flush));
}

// The smallest format with all that a plan can say: clusters of 2 KiB, given out one after the
// other, over a raw image below.
class ToyImage final : public Image {
 public:
  static constexpr uint64_t kCluster = 2 * kKiB;

  ToyImage(File& file, Image* below, uint64_t size) : file_(file), below_(below) {
    limits_.size = size;
  }
  const BlockLimits& limits() const override { return limits_; }
  File& data_file() override { return file_; }
  Image* below() override { return below_; }

  Result<ReadPlan> MapRead(DiskRange range) override {
    ReadPlan plan;
    while (plan.covers < range.length() && !plan.steps.full()) {
      plan.steps.push_back(StepFor(WithinCluster(range.Suffix(plan.covers))));
      plan.covers += LengthOf(plan.steps[plan.steps.size() - 1]);
    }
    return plan;
  }
  std::optional<ReadPlan> TryMapRead(DiskRange range) override { return MapRead(range).value(); }
  Result<WritePlan> PrepareWrite(DiskRange range) override {
    if (std::optional<WritePlan> in_place = TryPrepareWrite(range)) return std::move(*in_place);
    const DiskRange part = WithinCluster(range);
    const uint64_t index = part.start().value() / kCluster;
    const uint64_t head = part.start().value() % kCluster;
    const FileOffset host(next_);
    next_ += kCluster;
    WritePlan plan;
    plan.covers = part.length();
    plan.payload.push_back(FileRange::Make(host + head, part.length()).value());
    if (head > 0) plan.fills.push_back({StepFor(At(index * kCluster, head)), host});
    const uint64_t tail = kCluster - head - part.length();
    if (tail > 0)
      plan.fills.push_back({StepFor(At(part.end().value(), tail)), host + (head + part.length())});
    plan.link = std::make_unique<Link>(*this, index, host);
    return plan;
  }
  std::optional<WritePlan> TryPrepareWrite(DiskRange range) override {
    const DiskRange part = WithinCluster(range);
    const auto it = map_.find(part.start().value() / kCluster);
    if (it == map_.end()) return std::nullopt;
    WritePlan plan;
    plan.covers = part.length();
    plan.payload.push_back(
        FileRange::Make(it->second + part.start().value() % kCluster, part.length()).value());
    return plan;
  }
  Result<void> Discard(DiskRange) override { return {}; }
  Result<void> WriteZeroes(DiskRange, bool) override { return {}; }
  Result<void> Flush() override { return file_.Sync(); }
  Result<BlockStatus> Status(DiskRange) override { return Unsupported("toy"); }

  size_t linked() const { return map_.size(); }

 private:
  class Link final : public PendingLink {
   public:
    Link(ToyImage& image, uint64_t index, FileOffset host)
        : image_(image), index_(index), host_(host) {}
    Result<void> Commit() override {
      image_.map_[index_] = host_;
      return {};
    }

   private:
    ToyImage& image_;
    uint64_t index_;
    FileOffset host_;
  };

  static DiskRange WithinCluster(DiskRange range) {
    return range.Prefix(kCluster - range.start().value() % kCluster);
  }
  ReadStep StepFor(DiskRange part) {
    const auto it = map_.find(part.start().value() / kCluster);
    if (it != map_.end()) {
      return ReadFile{
          FileRange::Make(it->second + part.start().value() % kCluster, part.length()).value()};
    }
    if (below_ == nullptr) return ReadZeroes{part.length()};
    return ReadBelow{part};
  }

  File& file_;
  Image* below_;
  BlockLimits limits_;
  std::map<uint64_t, FileOffset> map_;
  uint64_t next_ = 0;
};

TEST(BlockingExecutor, RandomIoOnALayeredImageMatchesAModel) {
  constexpr uint64_t kSize = 64 * kKiB;
  std::vector<std::byte> model(kSize);
  for (uint64_t i = 0; i < 20'000; ++i) model[i] = static_cast<std::byte>(i * 31 + 1);
  RawDisk bottom(20'000);  // shorter than the layers above it
  bottom.memory.SetBytes({model.begin(), model.begin() + 20'000});
  MemoryFile middle_file;
  ToyImage middle(middle_file, bottom.image.get(), kSize);
  MemoryFile top_file;
  ToyImage top(top_file, &middle, kSize);
  BlockingExecutor below(middle, false);
  BlockingExecutor executor(top, false);

  uint32_t random = 1;
  const auto next = [&random](uint32_t bound) {
    random = random * 1664525 + 1013904223;
    return (random >> 8) % bound;
  };
  for (int i = 0; i < 400; ++i) {
    const uint64_t start = next(kSize / 512) * 512;
    const uint64_t length = std::min<uint64_t>((1 + next(40)) * 512, kSize - start);
    const auto at = model.begin() + static_cast<ptrdiff_t>(start);
    if (i < 20 || next(3) == 0) {
      Io write(BlockOp::kWrite, At(start, length), static_cast<std::byte>(i));
      ASSERT_TRUE((i < 20 ? below : executor).Perform(write.request).ok());
      std::copy(write.bytes.begin(), write.bytes.end(), at);
    } else {
      Io read(BlockOp::kRead, At(start, length));
      ASSERT_TRUE(executor.Perform(read.request).ok());
      ASSERT_TRUE(std::equal(read.bytes.begin(), read.bytes.end(), at)) << "round " << i;
    }
  }
}

TEST(BlockingExecutor, NothingIsLinkedWhenItsBytesCouldNotBeWritten) {
  RawDisk bottom(8192);
  MemoryFile memory;
  FaultyFile file(memory);
  ToyImage top(file, bottom.image.get(), 8192);
  BlockingExecutor executor(top, false);
  Io write(BlockOp::kWrite, At(512, 512), std::byte{1});

  file.Fail(FileOp::kWrite, EIO);  // the payload
  EXPECT_FALSE(executor.Perform(write.request).ok());
  bottom.file->Fail(FileOp::kRead, EIO);  // what is copied around it
  EXPECT_FALSE(executor.Perform(write.request).ok());
  EXPECT_EQ(top.linked(), 0u);

  EXPECT_TRUE(executor.Perform(write.request).ok());
  EXPECT_EQ(top.linked(), 1u);
}

TEST(BlockingExecutor, NewClustersAreNeverWrittenAtOnce) {
  MemoryFile file;
  file.SetNeverWaits(true);
  ToyImage image(file, nullptr, 8192);
  BlockingExecutor executor(image, false);
  Io write(BlockOp::kWrite, At(0, 512), std::byte{1});
  EXPECT_FALSE(executor.TryPerform(write.request));
  ASSERT_TRUE(executor.Perform(write.request).ok());
  EXPECT_TRUE(executor.TryPerform(write.request));
  Io read(BlockOp::kRead, At(0, 4096), std::byte{9});
  EXPECT_TRUE(executor.TryPerform(read.request));  // one cluster and zeroes
  EXPECT_EQ(read.bytes[511], std::byte{1});
  EXPECT_EQ(read.bytes[512], std::byte{0});
  EXPECT_EQ(read.bytes[4095], std::byte{0});
}

}  // namespace
}  // namespace skiff
