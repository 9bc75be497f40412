#pragma once

#include <memory>

#include "disk/qcow2/core.h"
#include "disk/qcow2/decoded_clusters.h"
#include "disk/qcow2/snapshot_table.h"

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

  // Changes of the image as a whole (snapshots.h, resize.h): no request is in flight, no plan
  // alive. After ApplySnapshot(), Resize() or an error it must be closed and opened anew.
  Result<std::vector<Snapshot>> Snapshots();
  Result<void> CreateSnapshot(Snapshot snapshot);
  Result<void> ApplySnapshot(std::string_view id_or_name);
  Result<void> DeleteSnapshot(std::string_view name);
  Result<void> Resize(uint64_t size) override;

 private:
  Qcow2Image(std::unique_ptr<File> file, std::unique_ptr<Image> backing, const Header& header,
             const Options& options);

  Core core_;
  const BlockLimits limits_;
  DecodedClusters decoded_;
};

}  // namespace skiff::qcow2
