#include "disk/qcow2/snapshots.h"

#include <algorithm>
#include <charconv>

#include "base/arith.h"
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
Result<void> CheckRaise(Core& core, std::span<const uint64_t> l1) REQUIRES(core.mutex) {
  BulkCounts counts = CountsOf(core);
  TableTree tree(*core.file, core.geometry);
  return tree.ForEachReference(l1, [&](ClusterRun run) { return counts.CheckRaise(run); });
}

// Flags go first, durably, so that no entry claims a cluster that two refer to.
Result<void> Raise(Core& core, std::span<const uint64_t> l1) REQUIRES(core.mutex) {
  TableTree tree(*core.file, core.geometry);
  TRY(tree.ClearCopied(l1));
  TRY(SyncFile(core));
  BulkCounts counts = CountsOf(core);
  TRY(tree.ForEachReference(l1, [&](ClusterRun run) { return counts.Raise(run); }));
  TRY(counts.Write());
  return SyncFile(core);
}

// `tables`: what else is not referred to any more.
Result<void> Lower(Core& core, std::span<const uint64_t> l1, std::span<const ClusterRun> tables)
    REQUIRES(core.mutex) {
  BulkCounts counts = CountsOf(core);
  TableTree tree(*core.file, core.geometry);
  TRY(tree.ForEachReference(l1, [&](ClusterRun run) { return counts.Lower(run); }));
  for (const ClusterRun& run : tables) TRY(counts.Lower(run));
  return SettleFreed(core, counts);
}

// Wherever the active disk is alone again. Counts are durable by now.
Result<void> SetCopied(Core& core) REQUIRES(core.mutex) {
  std::vector<uint64_t> entries = ActiveL1(core);
  BulkCounts counts = CountsOf(core);
  TRY(TableTree(*core.file, core.geometry).SetCopied(entries, counts));
  TRY(WriteL1(core, entries));
  TRY(SyncFile(core));
  CollectMetadata(core);
  return {};
}

// Writes the table to new clusters and lets the header name it. Returns the old one's clusters.
Result<ClusterRun> SwitchSnapshots(Core& core, const SnapshotTable& old,
                                   const std::vector<Snapshot>& snapshots) REQUIRES(core.mutex) {
  HeaderChange change = CurrentHeader(core);
  const std::vector<std::byte> bytes = TRY(EncodeSnapshots(snapshots));
  const ClusterRun before = RunOf(core, change.snapshots_offset, old.bytes);
  change.nb_snapshots = static_cast<uint32_t>(snapshots.size());
  change.snapshots_offset = FileOffset(0);
  if (!snapshots.empty()) {
    const ClusterRun place = TRY(AllocateRow(core, bytes.size()));
    change.snapshots_offset = core.OffsetOf(place.first);
    TRY(WriteBytes(*core.file, change.snapshots_offset, bytes));
  }
  TRY(SwitchHeader(core, change));
  return before;
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
  if (table.snapshots.size() >= kMaxSnapshots) return OutOfRange("there are too many snapshots");
  std::vector<uint64_t> entries = ActiveL1(core);
  TRY(CheckRaise(core, entries));
  const uint64_t bytes = entries.size() * sizeof(Be64);
  const ClusterRun l1 = TRY(AllocateRow(core, bytes));
  for (uint64_t& entry : entries) entry &= ~kCopied;
  TRY(WriteL1(core, entries));
  TRY(Raise(core, entries));
  TRY(WriteBytes(*core.file, core.OffsetOf(l1.first), EncodeTable(entries)));
  snapshot.id = NextId(table.snapshots);
  snapshot.l1_table_offset = core.OffsetOf(l1.first);
  snapshot.l1_size = static_cast<uint32_t>(entries.size());
  snapshot.disk_size = core.header.size;
  std::vector<Snapshot> snapshots = table.snapshots;
  snapshots.push_back(std::move(snapshot));
  const ClusterRun old = TRY(SwitchSnapshots(core, table, snapshots));
  return Lower(core, {}, {&old, 1});
}

Result<void> Apply(Core& core, std::string_view id_or_name) REQUIRES(core.mutex) {
  const SnapshotTable table = TRY(ReadSnapshots(*core.file, core.header));
  const Snapshot* const snapshot = FindSnapshot(table.snapshots, id_or_name);
  if (snapshot == nullptr) return Invalid("snapshot not found");
  const uint64_t needed = DivideRoundingUp(snapshot->disk_size, core.geometry.bytes_per_l2());
  std::vector<uint64_t> entries = TRY(ReadL1(core, *snapshot));
  if (entries.size() < needed) return Corrupt("the snapshot's L1 table is too small for its disk");
  for (uint64_t& entry : entries) entry &= ~kCopied;
  TRY(CheckRaise(core, entries));
  TRY(Raise(core, entries));
  const std::vector<uint64_t> before = ActiveL1(core);
  TRY(ReplaceL1(core, entries, snapshot->disk_size));
  TRY(Lower(core, before, {}));
  return SetCopied(core);
}

Result<void> Delete(Core& core, std::string_view id_or_name) REQUIRES(core.mutex) {
  const SnapshotTable table = TRY(ReadSnapshots(*core.file, core.header));
  const Snapshot* const found = FindSnapshot(table.snapshots, id_or_name);
  if (found == nullptr) return Invalid("snapshot not found");
  const Snapshot gone = *found;
  const std::vector<uint64_t> entries = TRY(ReadL1(core, gone));
  std::vector<Snapshot> rest = table.snapshots;
  rest.erase(rest.begin() + (found - table.snapshots.data()));
  const ClusterRun old = TRY(SwitchSnapshots(core, table, rest));
  const ClusterRun tables[] = {old,
                               RunOf(core, gone.l1_table_offset, entries.size() * sizeof(Be64))};
  TRY(Lower(core, entries, tables));
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

Result<void> DeleteSnapshot(Core& core, std::string_view id_or_name) {
  return Exclusively(core, [&]() NO_THREAD_SAFETY_ANALYSIS { return Delete(core, id_or_name); });
}

}  // namespace skiff::qcow2
