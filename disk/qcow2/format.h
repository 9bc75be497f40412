#pragma once

#include <cstddef>
#include <cstdint>

#include "base/endian.h"

// On-disk structures exactly as the qcow2 specification draws them, under its own field names
// ("qcow2" below is docs/interop/qcow2.txt of QEMU). No behaviour here.
namespace skiff::qcow2 {

inline constexpr uint32_t kMagic = 0x514649fb;  // "QFI\xfb"

// qcow2, "Header". Version 2 ends after snapshots_offset.
struct HeaderV2 {
  Be32 magic;
  Be32 version;
  Be64 backing_file_offset;
  Be32 backing_file_size;
  Be32 cluster_bits;
  Be64 size;
  Be32 crypt_method;
  Be32 l1_size;
  Be64 l1_table_offset;
  Be64 refcount_table_offset;
  Be32 refcount_table_clusters;
  Be32 nb_snapshots;
  Be64 snapshots_offset;
};
static_assert(sizeof(HeaderV2) == 72 && alignof(HeaderV2) == 1);

struct HeaderV3 {
  HeaderV2 v2;
  Be64 incompatible_features;
  Be64 compatible_features;
  Be64 autoclear_features;
  Be32 refcount_order;
  Be32 header_length;
};
static_assert(sizeof(HeaderV3) == 104);
static_assert(offsetof(HeaderV3, header_length) == 100);

// "Additional fields (version 3 and higher)", present if header_length covers it.
inline constexpr size_t kCompressionTypeOffset = 104;  // one byte
inline constexpr uint8_t kCompressionZlib = 0;
inline constexpr uint8_t kCompressionZstd = 1;

// incompatible_features
inline constexpr uint64_t kIncompatDirty = 1u << 0;
inline constexpr uint64_t kIncompatCorrupt = 1u << 1;
inline constexpr uint64_t kIncompatExternalData = 1u << 2;
inline constexpr uint64_t kIncompatCompressionType = 1u << 3;
inline constexpr uint64_t kIncompatExtendedL2 = 1u << 4;
inline constexpr uint64_t kIncompatKnown = (1u << 5) - 1;

// compatible_features
inline constexpr uint64_t kCompatLazyRefcounts = 1u << 0;

// autoclear_features
inline constexpr uint64_t kAutoclearBitmaps = 1u << 0;
inline constexpr uint64_t kAutoclearRawExternalData = 1u << 1;

// crypt_method
inline constexpr uint32_t kCryptNone = 0;
inline constexpr uint32_t kCryptAes = 1;
inline constexpr uint32_t kCryptLuks = 2;

// qcow2, "Header extensions": type, length, data padded to 8 bytes.
struct ExtensionHeader {
  Be32 type;
  Be32 length;
};
inline constexpr uint32_t kExtensionEnd = 0;
inline constexpr uint32_t kExtensionBackingFormat = 0xe2792aca;
inline constexpr uint32_t kExtensionFeatureNames = 0x6803f857;
inline constexpr uint32_t kExtensionBitmaps = 0x23852875;
inline constexpr uint32_t kExtensionFullDiskEncryption = 0x0537be77;
inline constexpr uint32_t kExtensionExternalDataFile = 0x44415441;
// Ours, and nobody else's: see open_mark.h. Its data is one Be64: 1 while the image is open.
inline constexpr uint32_t kExtensionOpenMark = 0x736b6f70;  // "skop"

// "Feature name table": one entry.
struct FeatureName {
  std::byte type;  // 0 incompatible, 1 compatible, 2 autoclear
  std::byte bit;
  char name[46];
};
static_assert(sizeof(FeatureName) == 48);

// qcow2, "L1 table entry".
inline constexpr uint64_t kCopied = uint64_t{1} << 63;  // L1 and L2: refcount is exactly one
inline constexpr uint64_t kOffsetMask = 0x00fffffffffffe00;
inline constexpr uint64_t kL1Reserved = ~(kCopied | kOffsetMask);

// qcow2, "L2 table entry".
inline constexpr uint64_t kCompressed = uint64_t{1} << 62;
inline constexpr uint64_t kAllZeroes = uint64_t{1} << 0;  // not with extended L2 entries
inline constexpr uint64_t kL2Reserved = ~(kCopied | kCompressed | kOffsetMask | kAllZeroes);

// qcow2, "Refcount table entry".
inline constexpr uint64_t kRefcountBlockOffsetMask = 0xfffffffffffffe00;

// qcow2, "Snapshots": the fixed part of a snapshot table entry.
struct SnapshotHeader {
  Be64 l1_table_offset;
  Be32 l1_size;
  Be16 id_str_size;
  Be16 name_size;
  Be32 date_sec;
  Be32 date_nsec;
  Be64 vm_clock_nsec;
  Be32 vm_state_size;
  Be32 extra_data_size;
};
static_assert(sizeof(SnapshotHeader) == 40);

// qcow2, "Bitmaps extension".
struct BitmapsExtension {
  Be32 nb_bitmaps;
  Be32 reserved;
  Be64 bitmap_directory_size;
  Be64 bitmap_directory_offset;
};
static_assert(sizeof(BitmapsExtension) == 24);

// qcow2, "Bitmap directory": the fixed part of an entry.
struct BitmapDirectoryEntry {
  Be64 bitmap_table_offset;
  Be32 bitmap_table_size;  // entries
  Be32 flags;
  std::byte type;
  std::byte granularity_bits;
  Be16 name_size;
  Be32 extra_data_size;
};
static_assert(sizeof(BitmapDirectoryEntry) == 24);

// qcow2, "Bitmap table".
inline constexpr uint64_t kBitmapReserved = ~(kOffsetMask | 1);

// Limits that QEMU 7.2 keeps too; what breaks them is refused.
inline constexpr uint32_t kMinClusterBits = 9;
inline constexpr uint32_t kMaxClusterBits = 21;
inline constexpr uint32_t kMinExtendedClusterBits = 14;
inline constexpr uint64_t kMaxL1Bytes = 32u << 20;
inline constexpr uint64_t kMaxRefcountTableBytes = 8u << 20;
inline constexpr uint32_t kMaxBackingNameBytes = 1023;
inline constexpr uint32_t kMaxSnapshots = 65536;
inline constexpr uint64_t kMaxSnapshotTableBytes = uint64_t{1024} * kMaxSnapshots;
inline constexpr uint32_t kMaxSnapshotExtraBytes = 1024;
inline constexpr uint32_t kMaxBitmaps = 65535;
inline constexpr uint64_t kMaxBitmapDirectoryBytes = uint64_t{1024} * kMaxBitmaps;
inline constexpr uint64_t kMaxBitmapTableEntries = 0x8000000;

}  // namespace skiff::qcow2
