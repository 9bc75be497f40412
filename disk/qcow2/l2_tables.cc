#include "disk/qcow2/l2_tables.h"

#include "disk/qcow2/allocate.h"
#include "disk/qcow2/maintenance.h"

namespace skiff::qcow2 {
namespace {

// The content of a new table: zeroes, or the table that is shared (which nobody changes).
Result<std::vector<std::byte>> ContentOf(Core& core, FileOffset shared) REQUIRES(core.mutex) {
  std::vector<std::byte> bytes(core.geometry.cluster_size());
  if (shared.value() == 0) return bytes;
  TRY(WithoutLock(core, [&] { return ReadBytes(*core.file, shared, bytes); }));
  return bytes;
}

// Writes the table out, unless it is all zeroes where the file reads as zeroes. The L1 entry must
// not be durable before what was written is: returns the sync to wait for.
Result<uint64_t> Fill(Core& core, const Allocation& table, FileOffset shared) REQUIRES(core.mutex) {
  if (shared.value() == 0 && table.fresh) return uint64_t{0};
  const std::vector<std::byte> bytes = TRY(ContentOf(core, shared));
  const FileOffset at = core.OffsetOf(table.run.first);
  TRY(WithoutLock(core, [&] { return WriteBytes(*core.file, at, bytes); }));
  return core.NextSync();
}

// `shared`: the table that the L1 entry names now; 0: none.
Result<void> MakeTable(Core& core, uint64_t l1_index, FileOffset shared) REQUIRES(core.mutex) {
  const std::optional<Allocation> table = TRY(Allocate(core, 1));
  if (!table) return {};
  core.making_l2.insert(l1_index);
  core.l2_slices.Drop(core.RangeOf(table->run));
  const Result<uint64_t> barrier = Fill(core, *table, shared);
  core.making_l2.erase(l1_index);
  core.changed.NotifyAll();
  if (!barrier.ok()) {
    core.reserve.Add(table->run);
    return barrier.error();
  }
  const FileOffset at = core.OffsetOf(table->run.first);
  core.l1.Set(l1_index, at.value() | kCopied, *barrier);
  core.metadata_clusters.insert(table->run.first);
  if (table->fresh && shared.value() == 0) core.l2_slices.InsertZeroes(at);
  if (shared.value() != 0) {
    core.metadata_clusters.erase(core.ClusterOf(shared));
    core.freed.push_back({{core.ClusterOf(shared), 1}, 0, {}});
  }
  return {};
}

}  // namespace

Result<std::optional<FileOffset>> WritableL2Slice(Core& core, DiskOffset offset) {
  const uint64_t l1_index = core.geometry.L1Index(offset);
  if (l1_index >= core.l1.size()) return OutOfRange("past the end of the L1 table");
  if (core.making_l2.contains(l1_index)) {
    core.changed.Wait(core.mutex);
    return std::optional<FileOffset>();
  }
  const uint64_t entry = core.l1[l1_index];
  Result<FileOffset> table = L2TableOf(core, entry);
  if (!table.ok()) return MarkCorrupt(core, table.error().message());
  if (table->value() != 0 && (entry & kCopied) != 0)
    return std::optional(SliceFor(core, *table, core.geometry.L2Index(offset)));
  TRY(MakeTable(core, l1_index, *table));
  return std::optional<FileOffset>();
}

}  // namespace skiff::qcow2
