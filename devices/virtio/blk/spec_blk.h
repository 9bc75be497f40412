#pragma once

#include <cstddef>
#include <cstdint>

#include "base/endian.h"
#include "devices/virtio/spec.h"

// VIRTIO 1.2, 5.2 "Block Device", under the specification's names.
namespace skiff::virtio {

// 5.2.3 "Feature bits".
inline constexpr uint64_t kBlkFeatureSegMax = FeatureBit(2);
inline constexpr uint64_t kBlkFeatureRo = FeatureBit(5);
inline constexpr uint64_t kBlkFeatureBlkSize = FeatureBit(6);
inline constexpr uint64_t kBlkFeatureFlush = FeatureBit(9);
inline constexpr uint64_t kBlkFeatureTopology = FeatureBit(10);
inline constexpr uint64_t kBlkFeatureMq = FeatureBit(12);
inline constexpr uint64_t kBlkFeatureDiscard = FeatureBit(13);
inline constexpr uint64_t kBlkFeatureWriteZeroes = FeatureBit(14);

// 5.2.6 "Device Operation". A sector is this long whatever blk_size says.
inline constexpr uint64_t kBlkSectorBytes = 512;

enum class BlkRequestType : uint32_t {
  kIn = 0,
  kOut = 1,
  kFlush = 4,
  kGetId = 8,
  kGetLifetime = 10,
  kDiscard = 11,
  kWriteZeroes = 13,
  kSecureErase = 14,
};

inline constexpr uint8_t kBlkStatusOk = 0;
inline constexpr uint8_t kBlkStatusIoErr = 1;
inline constexpr uint8_t kBlkStatusUnsupp = 2;

inline constexpr size_t kBlkIdBytes = 20;

// struct virtio_blk_req up to data[].
struct BlkRequestHeader {
  Le32 type;
  Le32 reserved;
  Le64 sector;
};
static_assert(sizeof(BlkRequestHeader) == 16);

struct BlkDiscardWriteZeroes {
  Le64 sector;
  Le32 num_sectors;
  Le32 flags;
};
static_assert(sizeof(BlkDiscardWriteZeroes) == 16);

inline constexpr uint32_t kBlkWriteZeroesFlagUnmap = 1;

// 5.2.4 "Device configuration layout": struct virtio_blk_config.
struct BlkConfig {
  Le64 capacity;
  Le32 size_max;
  Le32 seg_max;
  struct Geometry {
    Le16 cylinders;
    uint8_t heads;
    uint8_t sectors;
  } geometry;
  Le32 blk_size;
  struct Topology {
    uint8_t physical_block_exp;
    uint8_t alignment_offset;
    Le16 min_io_size;
    Le32 opt_io_size;
  } topology;
  uint8_t writeback;
  uint8_t unused0;
  Le16 num_queues;
  Le32 max_discard_sectors;
  Le32 max_discard_seg;
  Le32 discard_sector_alignment;
  Le32 max_write_zeroes_sectors;
  Le32 max_write_zeroes_seg;
  uint8_t write_zeroes_may_unmap;
  uint8_t unused1[3];
};
static_assert(sizeof(BlkConfig) == 60);
static_assert(offsetof(BlkConfig, num_queues) == 34);
static_assert(offsetof(BlkConfig, write_zeroes_may_unmap) == 56);

}  // namespace skiff::virtio
