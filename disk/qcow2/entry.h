#pragma once

#include <cstdint>

#include "disk/qcow2/geometry.h"

namespace skiff::qcow2 {

// What a subcluster's bytes are.
enum class Content : uint8_t {
  kUnallocated,  // the backing file's, or zeroes
  kZero,         // zeroes
  kData,         // in the host cluster (or compressed)
};

// One L2 entry, decoded; for standard and extended entries alike. A value: it touches no file.
//
// qcow2, "L2 table entry" and "Extended L2 Entries".
class Entry {
 public:
  Entry() = default;  // nothing allocated

  // kCorrupt, in words, if reserved bits are set, the host offset is not a cluster's, or bitmaps
  // contradict. `bitmap` is 0 unless entries are extended. `version` 2 has no zero flag.
  static Result<Entry> Decode(uint64_t bits, uint64_t bitmap, const Geometry& geometry);

  // Plain data: every subcluster in `host`.
  static Entry Data(FileOffset host, bool copied, const Geometry& geometry);
  // Reads as zeroes, no host cluster.
  static Entry Zeroes(const Geometry& geometry);
  // `source`: where the encoded bytes are; its end is a multiple of 512 (or the length is whole
  // sectors counted as the specification has it).
  static Entry Compressed(FileRange source, const Geometry& geometry);

  uint64_t bits(const Geometry& geometry) const;
  uint64_t bitmap() const;  // extended entries only

  bool has_host() const { return has_host_; }  // a host cluster, not compressed
  FileOffset host() const { return host_; }    // meaningful if has_host()
  bool copied() const { return copied_; }
  bool compressed() const { return compressed_; }
  FileRange compressed_source() const { return source_; }  // meaningful if compressed()

  Content content(uint32_t subcluster) const {
    if (compressed_ || ((allocated_ >> subcluster) & 1) != 0) return Content::kData;
    return ((zero_ >> subcluster) & 1) != 0 ? Content::kZero : Content::kUnallocated;
  }
  // Bit n for subcluster n; never both.
  uint32_t allocated() const { return allocated_; }
  uint32_t zero() const { return zero_; }
  bool empty() const { return !has_host_ && !compressed_ && zero_ == 0; }

  void set_host(FileOffset host, bool copied) {
    host_ = host;
    copied_ = copied;
    has_host_ = true;
    compressed_ = false;
  }
  // Sets the content of the subclusters in `mask`.
  void SetContent(uint32_t mask, Content content) {
    allocated_ &= ~mask;
    zero_ &= ~mask;
    if (content == Content::kData) allocated_ |= mask;
    if (content == Content::kZero) zero_ |= mask;
  }

 private:
  FileOffset host_;
  FileRange source_;
  uint32_t allocated_ = 0;
  uint32_t zero_ = 0;
  bool has_host_ = false;
  bool copied_ = false;
  bool compressed_ = false;
};

// All subclusters of a cluster, as a mask.
inline uint32_t AllSubclusters(const Geometry& geometry) {
  return geometry.extended_l2() ? ~uint32_t{0} : 1;
}
// Those that [first, last] names.
inline uint32_t SubclusterMask(uint32_t first, uint32_t last) {
  return (~uint32_t{0} << first) & (~uint32_t{0} >> (31 - last));
}

}  // namespace skiff::qcow2
