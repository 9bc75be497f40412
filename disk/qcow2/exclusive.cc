#include "disk/qcow2/exclusive.h"

#include <algorithm>
#include <cstring>

#include "disk/qcow2/allocate.h"
#include "disk/qcow2/load.h"
#include "disk/qcow2/maintenance.h"
#include "disk/qcow2/table_tree.h"

namespace skiff::qcow2 {

std::vector<std::byte> EncodeTable(std::span<const uint64_t> entries) {
  std::vector<Be64> raw(entries.begin(), entries.end());
  const auto bytes = std::as_bytes(std::span(raw));
  return {bytes.begin(), bytes.end()};
}

ClusterRun RunOf(const Core& core, FileOffset at, uint64_t bytes) {
  return {core.ClusterOf(at), core.geometry.ClustersFor(bytes)};
}

Result<void> BeginExclusive(Core& core) {
  TRY(WriteBack(core));
  TRY(MarkOpen(core));
  TRY(SyncFile(core));
  ReleaseFreed(core);
  TRY(WriteBack(core));
  if (core.file->written()) TRY(SyncFile(core));
  core.l2_slices.Clear();
  core.refcount_slices.Clear();
  return {};
}

Result<ClusterRun> WriteToNewClusters(Core& core, std::span<const std::byte> table) {
  if (table.empty()) return ClusterRun{0, 0};
  Result<ClusterRun> row = AllocateRow(core, core.geometry.ClustersFor(table.size()));
  // It worked on counts; from now on the file is the truth again.
  core.refcount_slices.Clear();
  const ClusterRun place = TRY(std::move(row));
  TRY(WriteBytes(*core.file, core.OffsetOf(place.first), table));
  return place;
}

HeaderChange CurrentHeader(const Core& core) {
  const Header& header = core.header;
  return {header.size, header.l1_size, header.l1_table_offset, header.nb_snapshots,
          header.snapshots_offset};
}

Result<void> SwitchHeader(Core& core, const HeaderChange& change) {
  TRY(SyncFile(core));
  std::vector<std::byte> sector(kSectorSize);
  TRY(ReadBytes(*core.file, FileOffset(0), sector));
  HeaderV2 v2;
  std::memcpy(static_cast<void*>(&v2), sector.data(), sizeof(v2));
  v2.size = change.size;
  v2.l1_size = change.l1_size;
  v2.l1_table_offset = change.l1_table_offset.value();
  v2.nb_snapshots = change.nb_snapshots;
  v2.snapshots_offset = change.snapshots_offset.value();
  std::memcpy(sector.data(), &v2, sizeof(v2));
  TRY(WriteBytes(*core.file, FileOffset(0), sector));
  core.header.size = change.size;
  core.header.l1_size = change.l1_size;
  core.header.l1_table_offset = change.l1_table_offset;
  core.header.nb_snapshots = change.nb_snapshots;
  core.header.snapshots_offset = change.snapshots_offset;
  return SyncFile(core);
}

Result<void> WriteL1(Core& core, std::span<const uint64_t> entries) {
  const FileOffset at = core.header.l1_table_offset;
  const std::vector<std::byte> bytes = EncodeTable(entries);
  TRY(WriteBytes(*core.file, at, bytes));
  core.l1 = TopTable(at, bytes);
  return {};
}

Result<void> ReplaceL1(Core& core, std::span<const uint64_t> entries, uint64_t size) {
  HeaderChange change = CurrentHeader(core);
  const ClusterRun old =
      RunOf(core, change.l1_table_offset, uint64_t{change.l1_size} * sizeof(Be64));
  const std::vector<std::byte> bytes = EncodeTable(entries);
  const ClusterRun place = TRY(WriteToNewClusters(core, bytes));
  change.size = size;
  change.l1_size = static_cast<uint32_t>(entries.size());
  change.l1_table_offset = core.OffsetOf(place.first);
  TRY(SwitchHeader(core, change));
  core.l1 = TopTable(change.l1_table_offset, bytes);
  TRY(LowerDurably(core, {}, {&old, 1}));
  CollectMetadata(core);
  return {};
}

BulkCounts CountsOf(Core& core) {
  return {*core.file, core.geometry, core.refcount_table.entries()};
}

Result<void> LowerDurably(Core& core, std::span<const uint64_t> l1,
                          std::span<const ClusterRun> others) {
  BulkCounts counts = CountsOf(core);
  ReferenceBatches references(*core.file, core.geometry, l1);
  Result<void> lowered =
      references.ForEach([&](std::span<const ClusterRun> runs) { return counts.Lower(runs); });
  if (lowered.ok()) lowered = counts.Lower(others);
  core.first_free = std::min(core.first_free, counts.first_freed());
  TRY(std::move(lowered));
  return SyncFile(core);
}

}  // namespace skiff::qcow2
