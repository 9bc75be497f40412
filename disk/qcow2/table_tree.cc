#include "disk/qcow2/table_tree.h"

namespace skiff::qcow2 {

Result<void> TableTree::Load(uint64_t l1_entry) {
  at_ = FileOffset(l1_entry & kOffsetMask);
  if ((l1_entry & kL1Reserved) != 0 || at_.value() == 0 || !geometry_.IsAligned(at_))
    return Corrupt("an L1 entry that cannot be: reserved bits, or not a cluster's offset");
  table_.resize(geometry_.cluster_size() / sizeof(Be64));
  return ReadBytes(file_, at_, std::as_writable_bytes(std::span(table_)));
}

Result<void> TableTree::Store() { return WriteBytes(file_, at_, std::as_bytes(std::span(table_))); }

Result<ClusterRun> TableTree::ReferenceOf(size_t word) const {
  const uint64_t bits = table_[word];
  if (bits == 0) return ClusterRun{0, 0};
  const uint64_t bitmap = geometry_.extended_l2() ? uint64_t{table_[word + 1]} : 0;
  const Entry entry = TRY(Entry::Decode(bits, bitmap, geometry_));
  if (entry.has_host()) return ClusterRun{entry.host().value() >> geometry_.cluster_bits(), 1};
  if (!entry.compressed()) return ClusterRun{0, 0};
  const FileRange source = entry.compressed_source();
  const uint64_t first = source.start().value() >> geometry_.cluster_bits();
  const uint64_t last = (source.end().value() - 1) >> geometry_.cluster_bits();
  return ClusterRun{first, last - first + 1};
}

Result<void> TableTree::ClearCopied(std::span<const uint64_t> l1) {
  for (const uint64_t entry : l1) {
    if (entry == 0) continue;
    TRY(Load(entry));
    bool changed = false;
    for (size_t n = 0; n < table_.size(); n += step()) {
      const uint64_t bits = table_[n];
      if ((bits & kCopied) == 0) continue;
      table_[n] = bits & ~kCopied;
      changed = true;
    }
    if (changed) TRY(Store());
  }
  return {};
}

// Whether something changed.
Result<bool> TableTree::SetCopiedInTable(BulkCounts& counts) {
  bool changed = false;
  for (size_t n = 0; n < table_.size(); n += step()) {
    const uint64_t bits = table_[n];
    const uint64_t host = bits & kOffsetMask;
    if ((bits & kCompressed) != 0 || host == 0) continue;
    const bool copied = TRY(counts.IsOne(host >> geometry_.cluster_bits()));
    const uint64_t wanted = copied ? bits | kCopied : bits & ~kCopied;
    changed |= wanted != bits;
    table_[n] = wanted;
  }
  return changed;
}

Result<void> TableTree::SetCopied(std::span<uint64_t> l1, BulkCounts& counts) {
  for (uint64_t& entry : l1) {
    if (entry == 0) continue;
    TRY(Load(entry));
    const bool own = TRY(counts.IsOne(at_.value() >> geometry_.cluster_bits()));
    entry = own ? entry | kCopied : entry & ~kCopied;
    if (!own) continue;
    if (TRY(SetCopiedInTable(counts))) TRY(Store());
  }
  return {};
}

}  // namespace skiff::qcow2
