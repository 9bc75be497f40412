#include "disk/qcow2/snapshots.h"

#include <algorithm>
#include <charconv>

#include "disk/qcow2/exclusive.h"
#include "disk/qcow2/load.h"
#include "disk/qcow2/maintenance.h"
#include "disk/qcow2/table_tree.h"

namespace skiff::qcow2 {
namespace {

std::vector<uint64_t> ActiveL1(const Core& core) REQUIRES(core.mutex) {
  return {core.l1.entries().begin(), core.l1.entries().end()};
}

Result<std::vector<uint64_t>> ReadL1(Core& core, const Snapshot& snapshot) REQUIRES(core.mutex) {
  const uint64_t bytes = uint64_t{snapshot.l1_size} * sizeof(Be64);
  if (bytes > core.file->size()) return Corrupt("the snapshot's L1 table is not in the file");
  std::vector<Be64> raw(snapshot.l1_size);
  TRY(ReadBytes(*core.file, snapshot.l1_table_offset, std::as_writable_bytes(std::span(raw))));
  return std::vector<uint64_t>(raw.begin(), raw.end());
}

// Before anything is changed: every entry makes sense, and every count can become one larger.
Result<void> CheckRaise(Core& core, ReferenceBatches& references) REQUIRES(core.mutex) {
  BulkCounts counts = CountsOf(core);
  return references.ForEach(
      [&](std::span<const ClusterRun> runs) { return counts.CheckRaise(runs); });
}

// Flags go first, durably, so that no entry claims a cluster that two refer to.
Result<void> Raise(Core& core, std::span<const uint64_t> l1, ReferenceBatches& references)
    REQUIRES(core.mutex) {
  TRY(TableTree(*core.file, core.geometry).ClearCopied(l1));
  TRY(SyncFile(core));
  BulkCounts counts = CountsOf(core);
  TRY(references.ForEach([&](std::span<const ClusterRun> runs) { return counts.Raise(runs); }));
  return SyncFile(core);
}

// Wherever the active disk is alone again. Counts are durable by now.
Result<void> SetCopied(Core& core) REQUIRES(core.mutex) {
  std::vector<uint64_t> entries = ActiveL1(core);
  SoleReferences sole(*core.file, core.geometry, core.refcount_table.entries());
  TRY(TableTree(*core.file, core.geometry).SetCopied(entries, sole));
  TRY(WriteL1(core, entries));
  TRY(SyncFile(core));
  CollectMetadata(core);
  return {};
}

Result<ClusterRun> WriteTable(Core& core, const std::vector<Snapshot>& snapshots)
    REQUIRES(core.mutex) {
  const std::vector<std::byte> bytes = TRY(EncodeSnapshots(snapshots));
  return WriteToNewClusters(core, bytes);
}

// Lets the header name the table of `count` snapshots that is in new clusters.
Result<void> SwitchSnapshots(Core& core, ClusterRun table, size_t count) REQUIRES(core.mutex) {
  HeaderChange change = CurrentHeader(core);
  change.nb_snapshots = static_cast<uint32_t>(count);
  change.snapshots_offset = core.OffsetOf(table.first);
  return SwitchHeader(core, change);
}

std::string NextId(const std::vector<Snapshot>& snapshots) {
  uint64_t largest = 0;
  for (const Snapshot& one : snapshots) {
    uint64_t id = 0;
    std::from_chars(one.id.data(), one.id.data() + one.id.size(), id);
    largest = std::max(largest, id);
  }
  return std::to_string(largest + 1);
}

Result<void> Create(Core& core, Snapshot snapshot) REQUIRES(core.mutex) {
  SnapshotTable table = TRY(ReadSnapshots(*core.file, core.header));
  std::vector<uint64_t> entries = ActiveL1(core);
  snapshot.id = NextId(table.snapshots);
  snapshot.l1_size = static_cast<uint32_t>(entries.size());
  snapshot.disk_size = core.header.size;
  std::vector<Snapshot> snapshots = table.snapshots;
  snapshots.push_back(std::move(snapshot));
  for (uint64_t& entry : entries) entry &= ~kCopied;
  ReferenceBatches references(*core.file, core.geometry, entries);
  TRY(EncodeSnapshots(snapshots));
  TRY(CheckRaise(core, references));
  const ClusterRun l1 = TRY(WriteToNewClusters(core, EncodeTable(entries)));
  snapshots.back().l1_table_offset = core.OffsetOf(l1.first);
  const Result<ClusterRun> place = WriteTable(core, snapshots);
  if (!place.ok()) {
    core.reserve.Add(l1);  // there may be no space for it
    return place.error();
  }
  TRY(WriteL1(core, entries));
  TRY(Raise(core, entries, references));
  const ClusterRun old = RunOf(core, core.header.snapshots_offset, table.bytes);
  TRY(SwitchSnapshots(core, *place, snapshots.size()));
  return LowerDurably(core, {}, {&old, 1});
}

Result<void> Apply(Core& core, std::string_view id_or_name) REQUIRES(core.mutex) {
  const SnapshotTable table = TRY(ReadSnapshots(*core.file, core.header));
  const Snapshot* const snapshot = FindSnapshot(table.snapshots, id_or_name);
  if (snapshot == nullptr) return Invalid("snapshot not found");
  TRY(CheckCovers(*snapshot, core.geometry));
  std::vector<uint64_t> entries = TRY(ReadL1(core, *snapshot));
  for (uint64_t& entry : entries) entry &= ~kCopied;
  ReferenceBatches references(*core.file, core.geometry, entries);
  TRY(CheckRaise(core, references));
  TRY(Raise(core, entries, references));
  const std::vector<uint64_t> before = ActiveL1(core);
  TRY(ReplaceL1(core, entries, snapshot->disk_size));
  TRY(LowerDurably(core, before, {}));
  return SetCopied(core);
}

Result<void> Delete(Core& core, std::string_view name) REQUIRES(core.mutex) {
  const SnapshotTable table = TRY(ReadSnapshots(*core.file, core.header));
  const auto found = std::ranges::find(table.snapshots, name, &Snapshot::name);
  if (found == table.snapshots.end()) return Invalid("snapshot not found");
  const Snapshot gone = *found;
  const std::vector<uint64_t> entries = TRY(ReadL1(core, gone));
  std::vector<Snapshot> rest = table.snapshots;
  rest.erase(rest.begin() + (found - table.snapshots.begin()));
  const ClusterRun place = TRY(WriteTable(core, rest));
  const ClusterRun tables[] = {RunOf(core, core.header.snapshots_offset, table.bytes),
                               RunOf(core, gone.l1_table_offset, entries.size() * sizeof(Be64))};
  TRY(SwitchSnapshots(core, place, rest.size()));
  TRY(LowerDurably(core, entries, tables));
  return SetCopied(core);
}

}  // namespace

Result<void> CreateSnapshot(Core& core, Snapshot snapshot) {
  return Exclusively(core,
                     [&]() NO_THREAD_SAFETY_ANALYSIS { return Create(core, std::move(snapshot)); });
}

Result<void> ApplySnapshot(Core& core, std::string_view id_or_name) {
  return Exclusively(core, [&]() NO_THREAD_SAFETY_ANALYSIS { return Apply(core, id_or_name); });
}

Result<void> DeleteSnapshot(Core& core, std::string_view name) {
  return Exclusively(core, [&]() NO_THREAD_SAFETY_ANALYSIS { return Delete(core, name); });
}

}  // namespace skiff::qcow2
