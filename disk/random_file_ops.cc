#include "disk/random_file_ops.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "base/arith.h"

namespace skiff {
namespace {

constexpr uint64_t kGap = 3;  // odd addresses

}  // namespace

RandomFileOps::RandomFileOps(File& file, uint64_t room, uint32_t unit, uint32_t seed)
    : file_(file), room_(room), unit_(unit), random_(seed), model_(room), size_(file.size()) {
  std::vector<std::byte> present(std::min(size_, room_));
  EXPECT_TRUE(ReadBytes(file_, FileOffset(0), present).ok());
  std::copy(present.begin(), present.end(), model_.begin());
}

void RandomFileOps::Run(int count) {
  for (int i = 0; i < count && !testing::Test::HasFatalFailure(); ++i) {
    const Stretch where = RandomStretch();
    switch (Below(5)) {
      case 0:
        Zero(where);
        break;
      case 1:
      case 2:
        Write(where);
        break;
      default:
        Read(where);
    }
    if (i % 32 == 0) CompareAll();
  }
  CompareAll();
  EXPECT_EQ(file_.size(), size_);
}

uint64_t RandomFileOps::Below(uint64_t bound) {
  return std::uniform_int_distribution<uint64_t>(0, bound - 1)(random_);
}

RandomFileOps::Stretch RandomFileOps::RandomStretch() {
  const uint64_t longest = Below(16) == 0 ? room_ : 16 * kKiB;
  const uint64_t start = AlignDown(Below(room_), unit_);
  const uint64_t length = Below(std::min(longest, room_ - start)) + 1;
  return {start, std::min(AlignUp(length, unit_), room_ - start)};
}

// Over pieces of `bytes`, which is made longer so that they have odd addresses.
std::vector<iovec> RandomFileOps::Split(std::vector<std::byte>& bytes) {
  const uint64_t length = bytes.size();
  const uint64_t pieces = Below(3) == 0 ? 1 : 1 + Below(std::min<uint64_t>(length, 40));
  const uint64_t gap = Below(2) == 0 ? 0 : kGap;
  bytes.resize(length + gap * (pieces + 1));
  std::vector<iovec> buffers;
  uint64_t at = gap;
  uint64_t left = length;
  for (uint64_t i = 0; i < pieces; ++i) {
    const uint64_t piece = i + 1 == pieces ? left : Below(left + 1);
    buffers.push_back({bytes.data() + at, piece});
    at += piece + gap;
    left -= piece;
  }
  return buffers;
}

void RandomFileOps::Read(const Stretch& where) {
  std::vector<std::byte> memory(where.length);
  const std::vector<iovec> buffers = Split(memory);
  const FileOffset at(where.start);
  if (Below(2) == 0 || !file_.TryReadAt(at, buffers)) {
    const Result<void> done = file_.ReadAt(at, buffers);
    ASSERT_TRUE(done.ok()) << done.error().message();
  }
  uint64_t position = where.start;
  for (const iovec& buffer : buffers) {
    const auto* const bytes = static_cast<const std::byte*>(buffer.iov_base);
    ASSERT_TRUE(std::equal(bytes, bytes + buffer.iov_len,
                           model_.begin() + static_cast<ptrdiff_t>(position)))
        << "in " << where.length << " bytes at " << where.start;
    position += buffer.iov_len;
  }
}

void RandomFileOps::Write(const Stretch& where) {
  std::vector<std::byte> memory(where.length);
  const std::vector<iovec> buffers = Split(memory);
  const auto value = static_cast<uint64_t>(Below(251) + 1);
  uint64_t position = where.start;
  for (const iovec& buffer : buffers) {
    auto* const bytes = static_cast<std::byte*>(buffer.iov_base);
    for (size_t i = 0; i < buffer.iov_len; ++i, ++position) {
      bytes[i] = static_cast<std::byte>(value + position);
      model_[position] = bytes[i];
    }
  }
  const FileOffset at(where.start);
  if (Below(2) == 0 || !file_.TryWriteAt(at, buffers)) {
    const Result<void> done = file_.WriteAt(at, buffers);
    ASSERT_TRUE(done.ok()) << done.error().message();
  }
  size_ = std::max(size_, where.start + where.length);
}

void RandomFileOps::Zero(const Stretch& where) {
  // Zeroing past the end may or may not grow the file; this test wants to know its size.
  const uint64_t length = std::min(where.length, size_ - std::min(size_, where.start));
  const FileRange range = FileRange::Make(FileOffset(where.start), length).value();
  const Result<void> done = file_.Zero(range, /*may_unmap=*/Below(2) == 0);
  ASSERT_TRUE(done.ok()) << done.error().message();
  std::fill_n(model_.begin() + static_cast<ptrdiff_t>(where.start), length, std::byte{0});
}

void RandomFileOps::CompareAll() {
  std::vector<std::byte> content(room_);
  const Result<void> done = ReadBytes(file_, FileOffset(0), content);
  ASSERT_TRUE(done.ok()) << done.error().message();
  const auto difference = std::mismatch(content.begin(), content.end(), model_.begin());
  ASSERT_EQ(difference.first, content.end())
      << "first difference at " << difference.first - content.begin();
}

}  // namespace skiff
