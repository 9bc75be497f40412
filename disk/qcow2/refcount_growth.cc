#include "disk/qcow2/refcount_growth.h"

#include <algorithm>
#include <cstring>

#include "disk/qcow2/maintenance.h"
#include "disk/qcow2/refcount_block.h"

namespace skiff::qcow2 {
namespace {

constexpr uint64_t kRefcountTableOffsetField = offsetof(HeaderV2, refcount_table_offset);

// Writes clusters that nothing refers to yet, and makes them durable.
Result<void> WriteUnreferenced(Core& core, FileOffset at, std::span<const std::byte> bytes)
    REQUIRES(core.mutex) {
  core.never_written = std::max(core.never_written, at + bytes.size());
  TRY(WithoutLock(core, [&] { return WriteBytes(*core.file, at, bytes); }));
  return SyncFile(core);
}

bool Fits(const Core& core, uint64_t end_cluster) {
  const FileFacts& facts = core.file->facts();
  return !facts.fixed_size || core.OffsetOf(end_cluster).value() <= core.file->size();
}

Error DeviceFull() { return {ErrorCode::kNoSpace, "no space left: the device is too small"}; }

// A new table and the blocks that count both of them, in a row from the first cluster that the
// old table has no entry for.
struct LargerTable {
  uint64_t first;  // cluster: of the blocks, then of the table
  uint64_t blocks;
  uint64_t table_clusters;
  uint64_t end() const { return first + blocks + table_clusters; }
};

Result<LargerTable> PlanLargerTable(const Core& core, uint64_t cluster) REQUIRES(core.mutex) {
  const Geometry& geometry = core.geometry;
  const uint64_t per_block = geometry.refcounts_per_block();
  const uint64_t old_entries = core.refcount_table.size();
  LargerTable plan{cluster, 1, 1};
  for (;;) {
    const uint64_t blocks = DivideRoundingUp(plan.end(), per_block) - cluster / per_block;
    const uint64_t entries = std::max(cluster / per_block + blocks, old_entries + old_entries / 2);
    const uint64_t clusters = geometry.ClustersFor(entries * sizeof(Be64));
    if (clusters << geometry.cluster_bits() > kMaxRefcountTableBytes)
      return Error(ErrorCode::kNoSpace, "no space left: the refcount table cannot grow further");
    if (blocks <= plan.blocks && clusters <= plan.table_clusters) return plan;
    plan.blocks = std::max(blocks, plan.blocks);
    plan.table_clusters = std::max(clusters, plan.table_clusters);
  }
}

void PutBe64(std::span<std::byte> bytes, uint64_t index, uint64_t value) {
  const Be64 stored(value);
  std::memcpy(&bytes[index * sizeof(stored)], &stored, sizeof(stored));
}

std::vector<std::byte> BytesOf(const Core& core, const LargerTable& plan) REQUIRES(core.mutex) {
  const uint64_t cluster_size = core.geometry.cluster_size();
  const uint64_t per_block = core.geometry.refcounts_per_block();
  std::vector<std::byte> bytes((plan.blocks + plan.table_clusters) * cluster_size);
  // Blocks follow each other, so that all their counts are one array.
  const auto blocks = std::span(bytes).first(plan.blocks * cluster_size);
  for (uint64_t cluster = plan.first; cluster < plan.end(); ++cluster) {
    const uint64_t index = cluster - AlignDown(plan.first, per_block);
    SetRefcountAt(blocks, core.geometry.refcount_order(), index, 1);
  }
  const auto table = std::span(bytes).subspan(plan.blocks * cluster_size);
  const auto old_entries = core.refcount_table.entries();
  for (size_t i = 0; i < old_entries.size(); ++i) PutBe64(table, i, old_entries[i]);
  for (uint64_t i = 0; i < plan.blocks; ++i)
    PutBe64(table, plan.first / per_block + i, core.OffsetOf(plan.first + i).value());
  return bytes;
}

// One write inside one sector: either the old table or the new one.
Result<void> SwitchTable(Core& core, FileOffset table, uint32_t clusters) REQUIRES(core.mutex) {
  struct {
    Be64 offset;
    Be32 clusters;
  } const fields{table.value(), clusters};
  static_assert(sizeof(fields) == 12);
  TRY(WithoutLock(core, [&] {
    return WriteBytes(*core.file, FileOffset(kRefcountTableOffsetField),
                      std::as_bytes(std::span(&fields, 1)));
  }));
  core.header.refcount_table_offset = table;
  core.header.refcount_table_clusters = clusters;
  return SyncFile(core);
}

Result<void> GrowTable(Core& core, uint64_t cluster) REQUIRES(core.mutex) {
  const LargerTable plan = TRY(PlanLargerTable(core, cluster));
  if (!Fits(core, plan.end())) return DeviceFull();
  const std::vector<std::byte> bytes = BytesOf(core, plan);
  TRY(WriteUnreferenced(core, core.OffsetOf(plan.first), bytes));
  const ClusterRun old{core.ClusterOf(core.refcount_table.at()),
                       core.header.refcount_table_clusters};
  const FileOffset table = core.OffsetOf(plan.first + plan.blocks);
  TRY(SwitchTable(core, table, static_cast<uint32_t>(plan.table_clusters)));
  const auto table_bytes = std::span(bytes).subspan(plan.blocks << core.geometry.cluster_bits());
  core.refcount_table = TopTable(table, table_bytes);
  for (uint64_t c = plan.first; c < plan.end(); ++c) core.metadata_clusters.insert(c);
  for (uint64_t c = old.first; c < old.end(); ++c) core.metadata_clusters.erase(c);
  core.unlinked.push_front({old, 0, {}});
  return {};
}

}  // namespace

Result<void> AddRefcountBlock(Core& core, uint64_t cluster) {
  const uint64_t per_block = core.geometry.refcounts_per_block();
  if (core.metadata_clusters.contains(cluster))
    return MarkCorrupt(core, "a cluster with metadata has no reference count");
  if (cluster / per_block >= core.refcount_table.size()) return GrowTable(core, cluster);
  if (!Fits(core, cluster + 1)) return DeviceFull();
  std::vector<std::byte> block(core.geometry.cluster_size());
  SetRefcountAt(block, core.geometry.refcount_order(), cluster % per_block, 1);
  TRY(WriteUnreferenced(core, core.OffsetOf(cluster), block));
  core.refcount_slices.Drop(core.RangeOf({cluster, 1}));
  core.metadata_clusters.insert(cluster);
  core.refcount_table.Set(cluster / per_block, core.OffsetOf(cluster).value(), /*barrier=*/0);
  return {};
}

}  // namespace skiff::qcow2
