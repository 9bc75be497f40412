#include "disk/qcow2/sole_references.h"

#include <algorithm>

#include "base/arith.h"
#include "disk/qcow2/refcount_block.h"

namespace skiff::qcow2 {
namespace {

constexpr uint64_t kMostWords = 4 * kMiB / sizeof(uint64_t);

}  // namespace

Result<std::span<const uint64_t>> SoleReferences::BitsOf(uint64_t index) {
  index = std::min<uint64_t>(index, table_.size());  // what the table does not have is all alike
  if (known_[index].empty()) {
    const uint64_t words = geometry_.refcounts_per_block() / 64;
    if (known_words_ + words > kMostWords) {
      for (std::vector<uint64_t>& bits : known_) bits = {};
      known_words_ = 0;
    }
    std::vector<uint64_t> bits(words);
    TRY(Fill(index, bits));
    known_[index] = std::move(bits);
    known_words_ += words;
  }
  return std::span<const uint64_t>(known_[index]);
}

Result<bool> SoleReferences::Has(uint64_t cluster) {
  const uint64_t per_block = geometry_.refcounts_per_block();
  return IsSet(TRY(BitsOf(cluster / per_block)), cluster % per_block);
}

Result<void> SoleReferences::Fill(uint64_t index, std::vector<uint64_t>& bits) {
  const FileOffset at(index < table_.size() ? table_[index] & kRefcountBlockOffsetMask : 0);
  if (at.value() == 0 || !geometry_.IsAligned(at)) return {};
  block_.resize(geometry_.cluster_size());
  TRY(ReadBytes(file_, at, block_));
  const std::span<const std::byte> block = block_;
  const uint32_t order = geometry_.refcount_order();
  for (uint64_t word = 0; word < bits.size(); ++word) {
    uint64_t set = 0;
    for (uint64_t n = 0; n < 64; ++n) {
      const bool one = RefcountAt(block, order, word * 64 + n) == 1;
      set |= uint64_t{one} << n;
    }
    bits[word] = set;
  }
  return {};
}

}  // namespace skiff::qcow2
