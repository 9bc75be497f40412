#include "disk/qcow2/entry.h"

#include <gtest/gtest.h>

namespace skiff::qcow2 {
namespace {

Geometry Of(uint32_t cluster_bits, bool extended = false) {
  return Geometry::Make(cluster_bits, 4, extended).value();
}

bool Refused(uint64_t bits, uint64_t bitmap, const Geometry& geometry) {
  const auto entry = Entry::Decode(bits, bitmap, geometry);
  return !entry.ok() && entry.error().code() == ErrorCode::kCorrupt;
}

TEST(Entry, EveryKindSurvivesEncoding) {
  for (uint32_t bits = kMinClusterBits; bits <= kMaxClusterBits; ++bits) {
    const Geometry g = Of(bits);
    const FileOffset host(uint64_t{5} << 30);
    Entry kept_zero = Entry::Zeroes(g);
    kept_zero.set_host(host, true);
    const auto source = FileRange::Make(host + 512 + 77, 512 * 2 - 77).value();
    for (const Entry& entry : {Entry(), Entry::Data(host, true, g), Entry::Data(host, false, g),
                               Entry::Zeroes(g), kept_zero, Entry::Compressed(source, g)}) {
      const auto again = Entry::Decode(entry.bits(g), 0, g);
      ASSERT_TRUE(again.ok());
      EXPECT_EQ(again->bits(g), entry.bits(g));
      EXPECT_EQ(again->content(0), entry.content(0));
      EXPECT_EQ(again->has_host(), entry.has_host());
      EXPECT_EQ(again->copied(), entry.copied());
      EXPECT_EQ(again->compressed(), entry.compressed());
    }
  }
}

TEST(Entry, ReservedBitsAreRefused) {
  const Geometry g = Of(16);
  const uint64_t good = kCopied | 0x50000;
  for (uint32_t bit = 0; bit < 64; ++bit) {
    const bool reserved = (bit >= 1 && bit <= 8) || (bit >= 56 && bit <= 61);
    const bool unaligned = bit >= 9 && bit < 16;
    EXPECT_EQ(Refused(good | uint64_t{1} << bit, 0, g), reserved || unaligned) << bit;
  }
}

// where offset and sector count part depends on the cluster size.
TEST(Entry, CompressedDescriptors) {
  struct Case {
    uint32_t cluster_bits;
    uint64_t offset;
    uint64_t more_sectors;
  };
  for (const Case& one : {Case{9, 0x123456789, 1}, Case{12, 0xabcdef01, 7},
                          Case{16, 0x7fff00000001, 100}, Case{21, 513, 4095}}) {
    const Geometry g = Of(one.cluster_bits);
    const uint64_t bits =
        kCompressed | one.more_sectors << (62 - (one.cluster_bits - 8)) | one.offset;
    const auto entry = Entry::Decode(bits, 0, g);
    ASSERT_TRUE(entry.ok());
    EXPECT_TRUE(entry->compressed());
    EXPECT_EQ(entry->compressed_source().start().value(), one.offset);
    EXPECT_EQ(entry->compressed_source().end().value() % 512, 0u);
    EXPECT_EQ(entry->compressed_source().length(), (one.more_sectors + 1) * 512 - one.offset % 512);
    EXPECT_EQ(entry->bits(g), bits);
  }
}

// qcow2, "Extended L2 Entries": bit n of the low half is data, of the high half zeroes.
TEST(Entry, SubclusterBitmaps) {
  const Geometry g = Of(16, /*extended=*/true);
  const auto entry = Entry::Decode(kCopied | 0x50000, uint64_t{0b1000} << 32 | 0b0101, g);
  ASSERT_TRUE(entry.ok());
  EXPECT_EQ(entry->content(0), Content::kData);
  EXPECT_EQ(entry->content(1), Content::kUnallocated);
  EXPECT_EQ(entry->content(2), Content::kData);
  EXPECT_EQ(entry->content(3), Content::kZero);
  EXPECT_EQ(entry->bitmap(), uint64_t{0b1000} << 32 | 0b0101);
  EXPECT_TRUE(Refused(0x50000, uint64_t{1} << 32 | 1, g));  // both
  EXPECT_TRUE(Refused(0, 1, g));                            // data, but where
  EXPECT_FALSE(Refused(0x50001, 0, g));  // the zero flag of standard entries, as QEMU does
  EXPECT_TRUE(Refused(kCompressed | 0x50000, 1, g));  // compressed and a bitmap
}

TEST(Entry, MasksOfSubclusters) {
  EXPECT_EQ(SubclusterMask(0, 31), 0xffffffff);
  EXPECT_EQ(SubclusterMask(0, 0), 1u);
  EXPECT_EQ(SubclusterMask(31, 31), 0x80000000);
  EXPECT_EQ(SubclusterMask(4, 7), 0xf0u);
}

}  // namespace
}  // namespace skiff::qcow2
