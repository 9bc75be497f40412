#include "disk/qcow2/load.h"

namespace skiff::qcow2 {
namespace {

// A table is in the file, so that a small file never takes much memory.
Result<TopTable> ReadTable(Core& core, FileOffset at, uint64_t bytes, const char* what)
    REQUIRES(core.mutex) {
  File& file = *core.file;
  const uint64_t file_end = AlignUp(core.initial_file_size, core.geometry.cluster_size());
  if (bytes > file_end || at.value() > file_end - bytes)
    return Corrupt("past the end of the file").While(what);
  std::vector<std::byte> content(bytes);
  Result<void> read = ReadBytes(file, at, content);
  if (!read.ok()) return std::move(read).error().While(what);
  return TopTable(at, content);
}

// Whether an image may be written to as it is.
Result<void> CheckWritableImage(const Header& header) {
  if (header.Has(kIncompatCorrupt))
    return Corrupt(
        "the image is marked corrupt; repair it before writing to it: skiff-img check -r "
        "all");
  if (header.Has(kIncompatDirty))
    return Corrupt(
        "the image was not closed and its reference counts are out of date; repair it "
        "before writing to it: skiff-img check -r all");
  if ((header.autoclear_features & kAutoclearBitmaps) != 0)
    return Unsupported(
        "the image has persistent bitmaps, which cannot be kept up to date yet; open "
        "it read-only or remove them: qemu-img bitmap --remove");
  return {};
}

void AddClusters(Core& core, FileOffset at, uint64_t bytes) REQUIRES(core.mutex) {
  const uint64_t first = core.ClusterOf(at);
  for (uint64_t n = 0; n < core.geometry.ClustersFor(bytes); ++n)
    core.metadata_clusters.insert(first + n);
}

void AddTargets(Core& core, const TopTable& table, uint64_t mask) REQUIRES(core.mutex) {
  for (const uint64_t entry : table.entries()) {
    if ((entry & mask) != 0)
      core.metadata_clusters.insert(core.ClusterOf(FileOffset(entry & mask)));
  }
}

// Whoever finds these bits set may rely on what we do not keep up.
Result<void> ClearAutoclear(Core& core) REQUIRES(core.mutex) {
  if (core.version < 3 || core.header.autoclear_features == 0) return {};
  core.header.autoclear_features = 0;
  const Be64 none(0);
  return WriteBytes(*core.file, FileOffset(offsetof(HeaderV3, autoclear_features)),
                    std::as_bytes(std::span(&none, 1)));
}

}  // namespace

void CollectMetadata(Core& core) {
  core.metadata_clusters.clear();
  AddClusters(core, FileOffset(0), 1);
  AddClusters(core, core.header.l1_table_offset, uint64_t{core.header.l1_size} * sizeof(Be64));
  AddClusters(core, core.header.refcount_table_offset,
              uint64_t{core.header.refcount_table_clusters} << core.geometry.cluster_bits());
  AddTargets(core, core.l1, kOffsetMask);
  AddTargets(core, core.refcount_table, kRefcountBlockOffsetMask);
}

Result<void> Load(Core& core) {
  MutexLock lock(core.mutex);
  core.l1 = TRY(ReadTable(core, core.header.l1_table_offset,
                          uint64_t{core.header.l1_size} * sizeof(Be64), "reading the L1 table"));
  if (core.read_only) return {};
  TRY(CheckWritableImage(core.header));
  core.refcount_table =
      TRY(ReadTable(core, core.header.refcount_table_offset,
                    uint64_t{core.header.refcount_table_clusters} << core.geometry.cluster_bits(),
                    "reading the refcount table"));
  CollectMetadata(core);
  return ClearAutoclear(core);
}

}  // namespace skiff::qcow2
