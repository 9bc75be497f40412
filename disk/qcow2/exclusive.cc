#include "disk/qcow2/exclusive.h"

#include <cstring>

#include "disk/qcow2/allocate.h"
#include "disk/qcow2/load.h"
#include "disk/qcow2/maintenance.h"

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
  TRY(SyncFile(core));
  core.l2_slices.Clear();
  core.refcount_slices.Clear();
  return {};
}

Result<ClusterRun> AllocateRow(Core& core, uint64_t bytes) {
  const uint64_t wanted = std::max<uint64_t>(1, core.geometry.ClustersFor(bytes));
  std::vector<ClusterRun> too_short;
  Result<ClusterRun> row = ClusterRun{0, 0};
  // Each reservation is larger than the one before, up to a limit.
  for (int tries = 0; row.ok() && row->count < wanted && tries < 64; ++tries) {
    if (row->count != 0) too_short.push_back(*row);
    row = AllocateAsMaintainer(core, wanted);
  }
  if (row.ok() && row->count < wanted) {
    too_short.push_back(*row);
    row = Error(ErrorCode::kNoSpace, "no " + std::to_string(wanted) + " free clusters in a row");
  }
  for (const ClusterRun& run : too_short) core.reserve.Add(run);
  core.refcount_slices.Clear();
  return row;
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
  const ClusterRun place = TRY(AllocateRow(core, bytes.size()));
  TRY(WriteBytes(*core.file, core.OffsetOf(place.first), bytes));
  change.size = size;
  change.l1_size = static_cast<uint32_t>(entries.size());
  change.l1_table_offset = core.OffsetOf(place.first);
  TRY(SwitchHeader(core, change));
  core.l1 = TopTable(change.l1_table_offset, bytes);
  BulkCounts counts = CountsOf(core);
  TRY(counts.Lower(old));
  TRY(SettleFreed(core, counts));
  CollectMetadata(core);
  return {};
}

BulkCounts CountsOf(Core& core) {
  return {*core.file, core.geometry, core.refcount_table.entries()};
}

Result<void> SettleFreed(Core& core, BulkCounts& counts) {
  TRY(counts.Write());
  TRY(SyncFile(core));
  for (const ClusterRun& run : counts.TakeFreed()) {
    // That a host cannot do it is no error.
    (void)core.file->Discard(core.RangeOf(run)).ok();
    core.first_free = std::min(core.first_free, run.first);
  }
  return {};
}

}  // namespace skiff::qcow2
