#include "disk/qcow2/core.h"

#include <algorithm>
#include <utility>

namespace skiff::qcow2 {
namespace {

constexpr uint64_t kFirstBatchBytes = kMiB;
constexpr uint64_t kFewestClusters = 8;
constexpr uint64_t kIncompatibleFeaturesOffset = offsetof(HeaderV3, incompatible_features);

}  // namespace

Core::Core(std::unique_ptr<File> host_file, std::unique_ptr<Image> backing_image,
           const Header& parsed, const Options& options)
    : file(std::make_unique<TrackedFile>(std::move(host_file))),
      backing(std::move(backing_image)),
      geometry(parsed.geometry),
      version(parsed.version),
      disk_size(AlignDown(parsed.size, 512)),
      initial_file_size(file->size()),
      read_only(options.read_only),
      compression_type(parsed.compression_type),
      header(parsed),
      l2_slices(geometry.cluster_size(), options.l2_cache_size),
      refcount_slices(geometry.cluster_size(), options.refcount_cache_size),
      most_dirty(options.l2_cache_size / 2),
      largest_batch(std::max<uint64_t>(options.most_reserved >> geometry.cluster_bits(), 1)),
      next_batch(std::min(largest_batch,
                          std::max(kFirstBatchBytes >> geometry.cluster_bits(), kFewestClusters))),
      never_written(AlignUp(initial_file_size, geometry.cluster_size())),
      generation(std::make_shared<Generation>()) {}

FileRange Core::RangeOf(ClusterRun run) const {
  // Clusters come from checked entries and counts: far below 2^63 bytes.
  auto range = FileRange::Make(OffsetOf(run.first), run.count << geometry.cluster_bits());
  return range.ok() ? *range : FileRange();
}

Result<Slice*> FindOrFetch(Core& core, TableCache& cache, FileOffset at) {
  if (Slice* const slice = cache.Find(at)) return slice;
  if (cache.IsLoading(at)) {
    core.changed.Wait(core.mutex);
    return nullptr;
  }
  std::vector<std::byte> bytes = cache.StartLoad(at);
  Result<void> read = WithoutLock(core, [&] { return ReadBytes(*core.file, at, bytes); });
  if (!read.ok()) bytes.clear();
  cache.EndLoad(at, std::move(bytes));
  core.changed.NotifyAll();
  if (!read.ok()) return std::move(read).error().While("reading a table");
  return nullptr;
}

Result<FileOffset> L2TableOf(Core& core, uint64_t l1_entry) {
  const FileOffset table(l1_entry & kOffsetMask);
  if ((l1_entry & kL1Reserved) != 0 || !core.geometry.IsAligned(table))
    return Corrupt("an L1 entry that cannot be: reserved bits, or not a cluster's offset");
  return table;
}

FileOffset SliceFor(const Core& core, FileOffset l2_table, uint64_t l2_index) {
  return core.l2_slices.SliceOf(l2_table + l2_index * core.geometry.l2_entry_size());
}

DiskRange InOneSlice(const Core& core, DiskRange range) {
  const uint64_t entries = core.l2_slices.slice_size() / core.geometry.l2_entry_size();
  const uint64_t bytes = entries << core.geometry.cluster_bits();
  return range.Prefix(bytes - (range.start().value() & (bytes - 1)));
}

namespace {

size_t OffsetInSlice(const Core& core, const Slice& slice, uint64_t l2_index) {
  return l2_index * core.geometry.l2_entry_size() & (slice.bytes().size() - 1);
}

}  // namespace

Result<Entry> EntryAt(const Core& core, const Slice& slice, uint64_t l2_index) {
  const size_t at = OffsetInSlice(core, slice, l2_index);
  const uint64_t bitmap = core.geometry.extended_l2() ? slice.Be64At(at + 8) : 0;
  return Entry::Decode(slice.Be64At(at), bitmap, core.geometry);
}

void SetEntry(Core& core, Slice& slice, uint64_t l2_index, const Entry& entry, uint64_t barrier) {
  const size_t at = OffsetInSlice(core, slice, l2_index);
  core.l2_slices.SetBe64(slice, at, entry.bits(core.geometry), barrier);
  if (core.geometry.extended_l2()) core.l2_slices.SetBe64(slice, at + 8, entry.bitmap(), barrier);
}

Error MarkCorrupt(Core& core, std::string what) {
  if (!core.read_only && !std::exchange(core.corrupt, true) && core.version >= 3) {
    core.header.incompatible_features |= kIncompatCorrupt;
    const Be64 features(core.header.incompatible_features);
    // The answer is an error anyway; that this bit could not be written changes nothing for the
    // one who asked.
    (void)WithoutLock(core, [&] {
      return WriteBytes(*core.file, FileOffset(kIncompatibleFeaturesOffset),
                        std::as_bytes(std::span(&features, 1)));
    }).ok();
  }
  return Corrupt(std::move(what) + "; the image is marked corrupt, check it before writing to it");
}

bool AwaitPending(Core& core, uint64_t first, uint64_t end) {
  const auto overlaps = [&](const PendingChange& change) {
    return change.first < end && first < change.end;
  };
  bool waited = false;
  while (std::any_of(core.pending.begin(), core.pending.end(), overlaps)) {
    core.changed.Wait(core.mutex);
    waited = true;
  }
  return waited;
}

void EndPending(Core& core, uint64_t first) {
  const auto ended =
      std::find_if(core.pending.begin(), core.pending.end(),
                   [&](const PendingChange& change) { return change.first == first; });
  if (ended == core.pending.end()) return;
  *ended = core.pending.back();
  core.pending.pop_back();
  core.changed.NotifyAll();
}

}  // namespace skiff::qcow2
