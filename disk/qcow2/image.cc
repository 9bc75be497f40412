#include "disk/qcow2/image.h"

#include <algorithm>

#include "disk/qcow2/clear.h"
#include "disk/qcow2/compression.h"
#include "disk/qcow2/load.h"
#include "disk/qcow2/maintenance.h"
#include "disk/qcow2/read_plan.h"
#include "disk/qcow2/resize.h"
#include "disk/qcow2/snapshots.h"
#include "disk/qcow2/write_plan.h"

namespace skiff::qcow2 {
namespace {

BlockLimits LimitsOf(const Core& core) {
  BlockLimits limits;
  limits.size = core.disk_size;
  limits.read_only = core.read_only;
  limits.physical_block = std::max<uint32_t>(512, core.file->facts().preferred.block);
  limits.optimal_io = static_cast<uint32_t>(core.geometry.cluster_size());
  limits.buffer_alignment = core.file->facts().preferred.memory;
  if (!core.read_only) {
    limits.discard_granularity = static_cast<uint32_t>(core.geometry.cluster_size());
    limits.max_discard = core.disk_size;
    limits.max_zero_length = core.disk_size;
  }
  return limits;
}

Result<void> CheckSupported(const Header& header) {
  if (header.Has(kIncompatExternalData))
    return Unsupported("images with an external data file cannot be used yet");
  return {};
}

// The header of an image whose active disk is that snapshot.
Result<Header> HeaderOf(File& file, Header header, const Options& options) {
  if (options.snapshot.empty()) return header;
  if (!options.read_only) return Invalid("a snapshot can only be opened read-only");
  const SnapshotTable table = TRY(ReadSnapshots(file, header));
  const Snapshot* const snapshot = FindSnapshot(table.snapshots, options.snapshot);
  if (snapshot == nullptr) return Invalid("there is no snapshot '" + options.snapshot + "'");
  TRY(CheckCovers(*snapshot, header.geometry));
  header.size = snapshot->disk_size;
  header.l1_size = snapshot->l1_size;
  header.l1_table_offset = snapshot->l1_table_offset;
  return header;
}

}  // namespace

Qcow2Image::Qcow2Image(std::unique_ptr<File> file, std::unique_ptr<Image> backing,
                       const Header& header, const Options& options)
    : core_(std::move(file), std::move(backing), header, options),
      limits_(LimitsOf(core_)),
      decoded_(header.geometry.cluster_size()) {}

Result<std::unique_ptr<Qcow2Image>> Qcow2Image::Open(std::unique_ptr<File> file,
                                                     std::unique_ptr<Image> backing,
                                                     const Options& options) {
  Header parsed = TRY(Header::Read(*file));
  TRY(CheckSupported(parsed));
  const Header header = TRY(HeaderOf(*file, std::move(parsed), options));
  std::unique_ptr<Qcow2Image> image(
      new Qcow2Image(std::move(file), std::move(backing), header, options));
  TRY(Load(image->core_));
  return image;
}

Result<ReadPlan> Qcow2Image::MapRead(DiskRange range) { return PlanRead(core_, range); }

std::optional<ReadPlan> Qcow2Image::TryMapRead(DiskRange range) {
  return TryPlanRead(core_, range);
}

Result<WritePlan> Qcow2Image::PrepareWrite(DiskRange range) { return PlanWrite(core_, range); }

std::optional<WritePlan> Qcow2Image::TryPrepareWrite(DiskRange range) {
  return TryPlanWrite(core_, range);
}

Result<DecodedCluster> Qcow2Image::Decode(const ReadEncoded& step) {
  // The lease of the plan keeps these bytes what they are.
  if (DecodedCluster known = decoded_.Find(step.source.start())) return known;
  std::vector<std::byte> encoded(step.source.length());
  TRY(ReadBytes(*core_.file, step.source.start(), encoded));
  auto cluster = std::make_shared<std::vector<std::byte>>(core_.geometry.cluster_size());
  TRY(Decompress(core_.compression_type, encoded, *cluster));
  decoded_.Insert(step.source.start(), cluster);
  return DecodedCluster(cluster);
}

Result<void> Qcow2Image::Discard(DiskRange range) {
  return ClearRange(core_, range, Clear::kDiscard);
}

Result<void> Qcow2Image::WriteZeroes(DiskRange range, bool may_unmap) {
  return ClearRange(core_, range, may_unmap ? Clear::kZeroUnmap : Clear::kZero);
}

Result<void> Qcow2Image::Flush() { return qcow2::Flush(core_); }

Result<BlockStatus> Qcow2Image::Status(DiskRange range) { return StatusOf(core_, range); }

Result<void> Qcow2Image::Close() { return qcow2::Close(core_); }

Result<std::vector<Snapshot>> Qcow2Image::Snapshots() {
  MutexLock lock(core_.mutex);
  return TRY(ReadSnapshots(*core_.file, core_.header)).snapshots;
}

Result<void> Qcow2Image::CreateSnapshot(Snapshot snapshot) {
  return qcow2::CreateSnapshot(core_, std::move(snapshot));
}

Result<void> Qcow2Image::ApplySnapshot(std::string_view id_or_name) {
  return qcow2::ApplySnapshot(core_, id_or_name);
}

Result<void> Qcow2Image::DeleteSnapshot(std::string_view name) {
  return qcow2::DeleteSnapshot(core_, name);
}

Result<void> Qcow2Image::Resize(uint64_t size) { return qcow2::Resize(core_, size); }

}  // namespace skiff::qcow2
