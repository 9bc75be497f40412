#pragma once

#include <memory>

#include "disk/qcow2/core.h"
#include "disk/qcow2/decoded_clusters.h"

namespace skiff::qcow2 {

// An open qcow2 image. Thread-safe. The order in which things reach the file is in README.md.
class Qcow2Image final : public Image {
 public:
  // `file` requires no alignment. `backing`: what the header's backing_file names; null if none.
  // kUnsupported or kCorrupt if the image needs what we lack or cannot be trusted with writes.
  static Result<std::unique_ptr<Qcow2Image>> Open(std::unique_ptr<File> file,
                                                  std::unique_ptr<Image> backing,
                                                  const Options& options);

  const BlockLimits& limits() const override { return limits_; }
  File& data_file() override { return *core_.file; }
  Image* below() override { return core_.backing.get(); }

  Result<ReadPlan> MapRead(DiskRange range) override;
  std::optional<ReadPlan> TryMapRead(DiskRange range) override;
  Result<WritePlan> PrepareWrite(DiskRange range) override;
  std::optional<WritePlan> TryPrepareWrite(DiskRange range) override;
  Result<DecodedCluster> Decode(const ReadEncoded& step) override;

  uint64_t clear_unit() const override { return core_.geometry.cluster_size(); }
  Result<void> Discard(DiskRange range) override;
  Result<void> WriteZeroes(DiskRange range, bool may_unmap) override;
  Result<void> Flush() override;
  Result<BlockStatus> Status(DiskRange range) override;
  Result<void> Close() override;

 private:
  Qcow2Image(std::unique_ptr<File> file, std::unique_ptr<Image> backing, const Header& header,
             const Options& options);

  Core core_;
  const BlockLimits limits_;
  DecodedClusters decoded_;
};

}  // namespace skiff::qcow2
