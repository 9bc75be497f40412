#include "disk/qcow2/table_tree.h"

#include <bit>

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
  const uint64_t bitmap = geometry_.extended_l2() ? uint64_t{table_[word + 1]} : 0;
  if ((bits | bitmap) == 0) return ClusterRun{0, 0};
  const Entry entry = TRY(Entry::Decode(bits, bitmap, geometry_));
  if (entry.has_host()) return ClusterRun{entry.host().value() >> geometry_.cluster_bits(), 1};
  if (!entry.compressed()) return ClusterRun{0, 0};
  const FileRange source = entry.compressed_source();
  const uint64_t first = source.start().value() >> geometry_.cluster_bits();
  const uint64_t last = (source.end().value() - 1) >> geometry_.cluster_bits();
  return ClusterRun{first, last - first + 1};
}

Result<ClusterRun> TableTree::NextRun(size_t& word) const {
  ClusterRun run = TRY(ReferenceOf(word));
  const bool compressed = (table_[word] & kCompressed) != 0;
  word += step();
  if (run.count == 0 || compressed) return run;
  // As long as entries are what the decoder would accept, with the next cluster.
  const std::span<const Be64> table(table_);
  const size_t words = step();
  uint64_t next = run.end() << geometry_.cluster_bits();
  for (; word < table.size() && next <= kOffsetMask; word += words) {
    if ((table[word] & ~(kCopied | kAllZeroes)) != next) break;
    const uint64_t bitmap = words == 2 ? uint64_t{table[word + 1]} : 0;
    if ((bitmap >> 32 & bitmap) != 0) break;
    next += geometry_.cluster_size();
  }
  run.count = (next >> geometry_.cluster_bits()) - run.first;
  return run;
}

Result<void> TableTree::ClearCopied(std::span<const uint64_t> l1) {
  for (const uint64_t entry : l1) {
    if (entry == 0) continue;
    TRY(Load(entry));
    const std::span<Be64> table(table_);
    const size_t words = step();
    uint64_t found = 0;
    for (size_t word = 0; word < table.size(); word += words) {
      const uint64_t bits = table[word];
      found |= bits;
      table[word] = bits & ~kCopied;
    }
    if ((found & kCopied) != 0) TRY(Store());
  }
  return {};
}

Result<bool> TableTree::SetCopiedInTable(SoleReferences& sole) {
  const uint64_t per_block = geometry_.refcounts_per_block();
  const int block_bits = std::countr_zero(per_block);
  uint64_t block = ~uint64_t{0};
  std::span<const uint64_t> ones;
  uint64_t changed = 0;
  // Locals: the compiler cannot know that bytes of the table are not in here.
  const std::span<Be64> table(table_);
  const size_t words = step();
  const uint32_t cluster_bits = geometry_.cluster_bits();
  for (size_t word = 0; word < table.size(); word += words) {
    const uint64_t bits = table[word];
    const uint64_t host = bits & kOffsetMask;
    if ((bits & kCompressed) != 0 || host == 0) continue;
    const uint64_t cluster = host >> cluster_bits;
    if (cluster >> block_bits != block) {
      block = cluster >> block_bits;
      ones = TRY(sole.BitsOf(block));
    }
    const bool own = SoleReferences::IsSet(ones, cluster & (per_block - 1));
    const uint64_t wanted = own ? bits | kCopied : bits & ~kCopied;
    changed |= wanted ^ bits;
    table[word] = wanted;
  }
  return changed != 0;
}

Result<void> TableTree::SetCopied(std::span<uint64_t> l1, SoleReferences& sole) {
  for (uint64_t& entry : l1) {
    if (entry == 0) continue;
    const bool own = TRY(sole.Has((entry & kOffsetMask) >> geometry_.cluster_bits()));
    entry = own ? entry | kCopied : entry & ~kCopied;
    if (!own) continue;
    TRY(Load(entry));
    if (TRY(SetCopiedInTable(sole))) TRY(Store());
  }
  return {};
}

}  // namespace skiff::qcow2
