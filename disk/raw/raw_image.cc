#include "disk/raw/raw_image.h"

#include <algorithm>

#include "base/arith.h"

namespace skiff {
namespace {

constexpr uint32_t kSector = 512;
constexpr uint64_t kLongestDiscard = kGiB;
constexpr uint64_t kLongestZero = kGiB;
constexpr uint64_t kLongestWrittenZero = 16 * kMiB;  // bounds how long one request takes

FileRange InFile(DiskRange range) {
  return FileRange::Make(FileOffset(range.start().value()), range.length()).value();
}

BlockLimits LimitsOf(const File& file) {
  const FileFacts& facts = file.facts();
  BlockLimits limits;
  limits.size = AlignUp(file.size(), kSector);
  limits.logical_block = kSector;
  limits.physical_block = std::max(kSector, facts.preferred.block);
  limits.buffer_alignment = facts.preferred.memory;
  limits.read_only = facts.read_only;
  if (limits.read_only) return limits;
  limits.discard_granularity = facts.discard_granularity;
  if (limits.discard_granularity != 0) limits.max_discard = kLongestDiscard;
  limits.max_zero_length = facts.quick_zero ? kLongestZero : kLongestWrittenZero;
  return limits;
}

}  // namespace

Result<std::unique_ptr<RawImage>> RawImage::Open(std::unique_ptr<File> file) {
  if (file->size() > INT64_MAX - kSector) return OutOfRange("the file is too long for a disk");
  const BlockLimits limits = LimitsOf(*file);
  return std::unique_ptr<RawImage>(new RawImage(std::move(file), limits));
}

Result<ReadPlan> RawImage::MapRead(DiskRange range) { return *TryMapRead(range); }

std::optional<ReadPlan> RawImage::TryMapRead(DiskRange range) {
  ReadPlan plan;
  plan.covers = range.length();
  plan.steps.push_back(ReadFile{InFile(range)});
  return plan;
}

Result<WritePlan> RawImage::PrepareWrite(DiskRange range) {
  return std::move(*TryPrepareWrite(range));
}

std::optional<WritePlan> RawImage::TryPrepareWrite(DiskRange range) {
  WritePlan plan;
  plan.covers = range.length();
  plan.payload.push_back(InFile(range));
  return plan;
}

Result<void> RawImage::Discard(DiskRange range) { return file_->Discard(InFile(range)); }

Result<void> RawImage::WriteZeroes(DiskRange range, bool may_unmap) {
  return file_->Zero(InFile(range), may_unmap);
}

Result<BlockStatus> RawImage::Status(DiskRange range) {
  const FileRange in_file = InFile(range);
  const FileStatus status = TRY(file_->Status(in_file));
  if (!status.data) return BlockStatus{BlockState::kZero, status.length, std::nullopt};
  return BlockStatus{BlockState::kData, status.length, in_file.start()};
}

}  // namespace skiff
