#include "disk/qcow2/entry.h"

#include <algorithm>

namespace skiff::qcow2 {
namespace {

constexpr uint64_t kCompressedSector = 512;

Result<FileRange> CompressedSource(uint64_t bits, const Geometry& geometry) {
  const uint32_t offset_bits = geometry.compressed_offset_bits();
  const uint64_t descriptor = bits & (kCompressed - 1);
  const uint64_t start = descriptor & ((uint64_t{1} << offset_bits) - 1);
  // "Additional sectors": they follow the one that the data starts in.
  const uint64_t sectors = (descriptor >> offset_bits) + 1;
  const uint64_t length = sectors * kCompressedSector - (start & (kCompressedSector - 1));
  if (start + length > (uint64_t{1} << 56)) return Corrupt("a compressed cluster out of range");
  return FileRange::Make(FileOffset(start), length);
}

}  // namespace

Result<Entry> Entry::Decode(uint64_t bits, uint64_t bitmap, const Geometry& geometry) {
  Entry entry;
  if ((bits & kCompressed) != 0) {
    if (bitmap != 0) return Corrupt("a compressed L2 entry with a subcluster bitmap");
    entry.source_ = TRY(CompressedSource(bits, geometry));
    entry.compressed_ = true;
    return entry;
  }
  const bool extended = geometry.extended_l2();
  // With extended entries the zero flag means nothing, and QEMU does not look at it.
  if ((bits & kL2Reserved) != 0) return Corrupt("an L2 entry with reserved bits set");
  entry.host_ = FileOffset(bits & kOffsetMask);
  if (!geometry.IsAligned(entry.host_))
    return Corrupt("an L2 entry whose offset is not a cluster's");
  entry.has_host_ = entry.host_.value() != 0;
  entry.copied_ = (bits & kCopied) != 0;
  if (extended) {
    entry.allocated_ = static_cast<uint32_t>(bitmap);
    entry.zero_ = static_cast<uint32_t>(bitmap >> 32);
    if ((entry.allocated_ & entry.zero_) != 0)
      return Corrupt("an L2 entry with subclusters that are both data and zeroes");
    if (!entry.has_host_ && entry.allocated_ != 0)
      return Corrupt("an L2 entry with data but without a cluster");
  } else {
    entry.zero_ = (bits & kAllZeroes) != 0;
    entry.allocated_ = entry.has_host_ && entry.zero_ == 0;
  }
  return entry;
}

Entry Entry::Data(FileOffset host, bool copied, const Geometry& geometry) {
  Entry entry;
  entry.set_host(host, copied);
  entry.allocated_ = AllSubclusters(geometry);
  return entry;
}

Entry Entry::Zeroes(const Geometry& geometry) {
  Entry entry;
  entry.zero_ = AllSubclusters(geometry);
  return entry;
}

Entry Entry::Compressed(FileRange source, const Geometry& /*geometry*/) {
  Entry entry;
  entry.source_ = source;
  entry.compressed_ = true;
  return entry;
}

uint64_t Entry::bits(const Geometry& geometry) const {
  if (compressed_) {
    const uint64_t start = source_.start().value();
    const uint64_t last = source_.end().value() - 1;
    const uint64_t more = last / kCompressedSector - start / kCompressedSector;
    return kCompressed | more << geometry.compressed_offset_bits() | start;
  }
  uint64_t bits = has_host_ ? host_.value() : 0;
  if (copied_) bits |= kCopied;
  if (!geometry.extended_l2() && zero_ != 0) bits |= kAllZeroes;
  return bits;
}

uint64_t Entry::bitmap() const { return uint64_t{zero_} << 32 | allocated_; }

}  // namespace skiff::qcow2
