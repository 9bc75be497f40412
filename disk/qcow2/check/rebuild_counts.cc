#include "disk/qcow2/check/rebuild_counts.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <set>

#include "base/arith.h"
#include "disk/qcow2/refcount_block.h"
#include "disk/qcow2/table_cache.h"

namespace skiff::qcow2 {
namespace {

class Rebuild {
 public:
  Rebuild(File& file, Header& header, const StoredCounts& old, ReferenceCounts& counts)
      : file_(file), header_(header), geometry_(header.geometry), counts_(counts) {
    KeepOff(header.refcount_table_offset, header.refcount_table_clusters);
    for (uint64_t index = 0; index < old.table().size(); ++index)
      if (const auto block = old.BlockAt(index)) KeepOff(*block, 1);
  }

  Result<void> Run() {
    FindNeeded();
    TRY(Place());
    TRY(WriteBlocks());
    TRY(WriteTable());
    TRY(file_.Sync());
    TRY(SwitchHeader());
    return file_.Sync();
  }

 private:
  void KeepOff(FileOffset at, uint64_t clusters) {
    for (uint64_t n = 0; n < clusters; ++n)
      old_.insert((at.value() >> geometry_.cluster_bits()) + n);
  }

  void FindNeeded() {
    const uint64_t per_block = geometry_.refcounts_per_block();
    uint64_t known = ~uint64_t{0};
    counts_.ForEach(0, counts_.End(), [&](uint64_t cluster, uint64_t count) {
      if (count == 0 || cluster / per_block == known) return;
      known = cluster / per_block;
      blocks_.emplace(known, 0);
    });
  }

  // The lowest free clusters in a row, from `from` on.
  Result<uint64_t> Take(uint64_t many, uint64_t& from) {
    uint64_t found = 0;
    uint64_t at = from;
    for (; found < many; ++at) found = counts_.At(at) == 0 && !old_.contains(at) ? found + 1 : 0;
    const uint64_t first = at - many;
    if (file_.facts().fixed_size && at > file_.size() >> geometry_.cluster_bits())
      return Error(ErrorCode::kNoSpace, "no room for new reference counts on the device");
    for (uint64_t n = first; n < at; ++n) {
      counts_.Set(n, 1);
      blocks_.emplace(n / geometry_.refcounts_per_block(), 0);
    }
    from = many == 1 ? at : from;
    return first;
  }

  // A cluster for every block that is needed, which may need further blocks; then the table.
  Result<void> Place() {
    uint64_t from = 1;
    for (;;) {
      for (auto block = blocks_.begin(); block != blocks_.end(); ++block)
        if (block->second == 0) block->second = TRY(Take(1, from));
      const bool all = std::all_of(blocks_.begin(), blocks_.end(),
                                   [](const auto& block) { return block.second != 0; });
      const uint64_t entries = blocks_.rbegin()->first + 1;
      const uint64_t wanted = DivideRoundingUp(entries * sizeof(Be64), geometry_.cluster_size());
      if (all && wanted <= table_clusters_) return {};
      if (!all) continue;
      if (wanted << geometry_.cluster_bits() > kMaxRefcountTableBytes)
        return OutOfRange("the image is too large for new reference counts");
      for (uint64_t n = 0; n < table_clusters_; ++n) counts_.Set(table_ + n, 0);
      table_ = TRY(Take(wanted, from));
      table_clusters_ = wanted;
    }
  }

  Result<void> WriteBlocks() {
    const uint64_t per_block = geometry_.refcounts_per_block();
    std::vector<std::byte> bytes(geometry_.cluster_size());
    for (const auto& [index, cluster] : blocks_) {
      std::fill(bytes.begin(), bytes.end(), std::byte{0});
      const uint64_t first = index * per_block;
      counts_.ForEach(first, first + per_block, [&](uint64_t n, uint64_t count) {
        SetRefcountAt(bytes, geometry_.refcount_order(), n - first, count);
      });
      TRY(WriteBytes(file_, FileOffset(cluster << geometry_.cluster_bits()), bytes));
    }
    return {};
  }

  Result<void> WriteTable() {
    std::vector<Be64> entries((table_clusters_ << geometry_.cluster_bits()) / sizeof(Be64));
    for (const auto& [index, cluster] : blocks_)
      entries[index] = cluster << geometry_.cluster_bits();
    return WriteBytes(file_, TableAt(), std::as_bytes(std::span(entries)));
  }

  // In one sector, which a disk writes whole or not at all.
  Result<void> SwitchHeader() {
    std::vector<std::byte> sector(kSectorSize);
    TRY(ReadBytes(file_, FileOffset(0), sector));
    const Be64 at = TableAt().value();
    const Be32 clusters = static_cast<uint32_t>(table_clusters_);
    std::memcpy(sector.data() + offsetof(HeaderV2, refcount_table_offset), &at, sizeof(at));
    std::memcpy(sector.data() + offsetof(HeaderV2, refcount_table_clusters), &clusters,
                sizeof(clusters));
    TRY(WriteBytes(file_, FileOffset(0), sector));
    header_.refcount_table_offset = TableAt();
    header_.refcount_table_clusters = clusters;
    return {};
  }

  FileOffset TableAt() const { return FileOffset(table_ << geometry_.cluster_bits()); }

  File& file_;
  Header& header_;
  const Geometry geometry_;
  ReferenceCounts& counts_;
  std::set<uint64_t> old_;               // clusters of the old structure
  std::map<uint64_t, uint64_t> blocks_;  // index in the table to cluster; 0: none yet
  uint64_t table_ = 0;                   // its first cluster
  uint64_t table_clusters_ = 0;
};

}  // namespace

Result<void> RebuildCounts(File& file, Header& header, const StoredCounts& old,
                           ReferenceCounts& counts) {
  return Rebuild(file, header, old, counts).Run();
}

}  // namespace skiff::qcow2
