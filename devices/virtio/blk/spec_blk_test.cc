#define VIRTIO_BLK_NO_LEGACY

#include "devices/virtio/blk/spec_blk.h"

#include <gtest/gtest.h>
#include <linux/virtio_blk.h>

namespace skiff::virtio {
namespace {

TEST(SpecBlk, EqualsLinux) {
  EXPECT_EQ(kBlkFeatureSegMax, FeatureBit(VIRTIO_BLK_F_SEG_MAX));
  EXPECT_EQ(kBlkFeatureRo, FeatureBit(VIRTIO_BLK_F_RO));
  EXPECT_EQ(kBlkFeatureBlkSize, FeatureBit(VIRTIO_BLK_F_BLK_SIZE));
  EXPECT_EQ(kBlkFeatureFlush, FeatureBit(9));  // VIRTIO_BLK_F_FLUSH, "legacy" to the header
  EXPECT_EQ(kBlkFeatureTopology, FeatureBit(VIRTIO_BLK_F_TOPOLOGY));
  EXPECT_EQ(kBlkFeatureMq, FeatureBit(VIRTIO_BLK_F_MQ));
  EXPECT_EQ(kBlkFeatureDiscard, FeatureBit(VIRTIO_BLK_F_DISCARD));
  EXPECT_EQ(kBlkFeatureWriteZeroes, FeatureBit(VIRTIO_BLK_F_WRITE_ZEROES));

  EXPECT_EQ(static_cast<int>(BlkRequestType::kIn), VIRTIO_BLK_T_IN);
  EXPECT_EQ(static_cast<int>(BlkRequestType::kOut), VIRTIO_BLK_T_OUT);
  EXPECT_EQ(static_cast<int>(BlkRequestType::kFlush), VIRTIO_BLK_T_FLUSH);
  EXPECT_EQ(static_cast<int>(BlkRequestType::kGetId), VIRTIO_BLK_T_GET_ID);
  EXPECT_EQ(static_cast<int>(BlkRequestType::kDiscard), VIRTIO_BLK_T_DISCARD);
  EXPECT_EQ(static_cast<int>(BlkRequestType::kWriteZeroes), VIRTIO_BLK_T_WRITE_ZEROES);
  EXPECT_EQ(static_cast<int>(BlkRequestType::kSecureErase), VIRTIO_BLK_T_SECURE_ERASE);

  EXPECT_EQ(kBlkStatusOk, VIRTIO_BLK_S_OK);
  EXPECT_EQ(kBlkStatusIoErr, VIRTIO_BLK_S_IOERR);
  EXPECT_EQ(kBlkStatusUnsupp, VIRTIO_BLK_S_UNSUPP);
  EXPECT_EQ(kBlkIdBytes, size_t{VIRTIO_BLK_ID_BYTES});
  EXPECT_EQ(kBlkWriteZeroesFlagUnmap, unsigned{VIRTIO_BLK_WRITE_ZEROES_FLAG_UNMAP});
}

TEST(SpecBlk, StructuresEqualLinux) {
  EXPECT_EQ(sizeof(BlkRequestHeader), sizeof(virtio_blk_outhdr));
  EXPECT_EQ(offsetof(BlkRequestHeader, sector), offsetof(virtio_blk_outhdr, sector));
  EXPECT_EQ(sizeof(BlkDiscardWriteZeroes), sizeof(virtio_blk_discard_write_zeroes));
  EXPECT_EQ(offsetof(BlkConfig, seg_max), offsetof(virtio_blk_config, seg_max));
  EXPECT_EQ(offsetof(BlkConfig, blk_size), offsetof(virtio_blk_config, blk_size));
  EXPECT_EQ(offsetof(BlkConfig, topology.opt_io_size), offsetof(virtio_blk_config, opt_io_size));
  EXPECT_EQ(offsetof(BlkConfig, num_queues), offsetof(virtio_blk_config, num_queues));
  EXPECT_EQ(offsetof(BlkConfig, max_discard_sectors),
            offsetof(virtio_blk_config, max_discard_sectors));
  EXPECT_EQ(offsetof(BlkConfig, max_write_zeroes_seg),
            offsetof(virtio_blk_config, max_write_zeroes_seg));
  EXPECT_EQ(offsetof(BlkConfig, write_zeroes_may_unmap),
            offsetof(virtio_blk_config, write_zeroes_may_unmap));
}

}  // namespace
}  // namespace skiff::virtio
