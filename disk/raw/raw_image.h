#pragma once

#include <memory>

#include "disk/image.h"

namespace skiff {

// The identity map: byte n of the disk is byte n of the file. A file that ends inside a sector
// counts as if zeroes filled that sector up; a write there grows the file.
class RawImage final : public Image {
 public:
  // `file` requires no alignment.
  static Result<std::unique_ptr<RawImage>> Open(std::unique_ptr<File> file);

  const BlockLimits& limits() const override { return limits_; }
  File& data_file() override { return *file_; }
  Image* below() override { return nullptr; }

  Result<ReadPlan> MapRead(DiskRange range) override;
  std::optional<ReadPlan> TryMapRead(DiskRange range) override;
  Result<WritePlan> PrepareWrite(DiskRange range) override;
  std::optional<WritePlan> TryPrepareWrite(DiskRange range) override;

  Result<void> Discard(DiskRange range) override;
  Result<void> WriteZeroes(DiskRange range, bool may_unmap) override;
  Result<void> Flush() override { return file_->Sync(); }
  Result<BlockStatus> Status(DiskRange range) override;
  Result<void> Resize(uint64_t size) override { return file_->Resize(size); }

 private:
  RawImage(std::unique_ptr<File> file, const BlockLimits& limits)
      : file_(std::move(file)), limits_(limits) {}

  const std::unique_ptr<File> file_;
  const BlockLimits limits_;
};

}  // namespace skiff
