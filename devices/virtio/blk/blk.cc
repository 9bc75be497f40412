#include "devices/virtio/blk/blk.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "base/arith.h"

namespace skiff::virtio {
namespace {

constexpr uint16_t kMostQueues = 64;
constexpr uint16_t kLeastQueueSize = 4;  // header, one buffer, status
constexpr uint16_t kMostQueueSize = 1024;

uint32_t Sectors(uint64_t bytes) {
  return static_cast<uint32_t>(std::min<uint64_t>(bytes / kBlkSectorBytes, UINT32_MAX));
}

// VIRTIO 1.2, 5.2.5.1: limits of what is offered are not zero.
bool CanDiscard(const BlockLimits& limits) {
  return limits.discard_granularity != 0 && limits.max_discard >= limits.logical_block;
}
bool CanWriteZeroes(const BlockLimits& limits) {
  return limits.max_zero_length >= limits.logical_block;
}

uint64_t OfferedFeatures(const BlockLimits& limits, const BlkOptions& options) {
  uint64_t features = kBlkFeatureSegMax | kBlkFeatureBlkSize | kBlkFeatureTopology;
  if (limits.read_only) features |= kBlkFeatureRo;
  if (!options.write_through) features |= kBlkFeatureFlush;
  if (options.queue_count > 1) features |= kBlkFeatureMq;
  const bool may_change = options.offer_discard && !limits.read_only;
  if (may_change && CanDiscard(limits)) features |= kBlkFeatureDiscard;
  if (may_change && CanWriteZeroes(limits)) features |= kBlkFeatureWriteZeroes;
  return features;
}

BlkConfig::Topology TopologyOf(const BlockLimits& limits) {
  const uint32_t blocks = std::max(limits.physical_block / limits.logical_block, 1U);
  const uint32_t optimal = limits.optimal_io / limits.logical_block;
  return {.physical_block_exp = static_cast<uint8_t>(std::bit_width(blocks) - 1),
          .alignment_offset = 0,
          .min_io_size = static_cast<uint16_t>(std::min(blocks, uint32_t{UINT16_MAX})),
          .opt_io_size = optimal};
}

BlkConfig ConfigOf(const BlockLimits& limits, const BlkOptions& options, uint64_t features) {
  BlkConfig config{};
  config.capacity = limits.size / kBlkSectorBytes;
  // The header and the status take a descriptor each.
  config.seg_max = uint32_t{options.queue_size} - 2;
  config.blk_size = limits.logical_block;
  config.topology = TopologyOf(limits);
  config.writeback = options.write_through ? 0 : 1;
  config.num_queues = options.queue_count;
  if ((features & kBlkFeatureDiscard) != 0) {
    config.max_discard_sectors = Sectors(limits.max_discard);
    config.max_discard_seg = 1U;
    config.discard_sector_alignment = std::max(Sectors(limits.discard_granularity), 1U);
  }
  if ((features & kBlkFeatureWriteZeroes) != 0) {
    config.max_write_zeroes_sectors = Sectors(limits.max_zero_length);
    config.max_write_zeroes_seg = 1U;
    config.write_zeroes_may_unmap = CanDiscard(limits) ? 1 : 0;
  }
  return config;
}

BlkRules RulesOf(const BlockLimits& limits, const BlkOptions& options, uint64_t features) {
  const auto all = DiskRange::Make(DiskOffset(0), AlignDown(limits.size, kBlkSectorBytes));
  return {.disk = all.ok() ? all.value() : DiskRange(),
          .logical_block = limits.logical_block,
          .read_only = limits.read_only,
          .discard = (features & kBlkFeatureDiscard) != 0,
          .write_zeroes = (features & kBlkFeatureWriteZeroes) != 0,
          .max_discard = limits.max_discard,
          .max_zero = limits.max_zero_length,
          // VIRTIO 1.2, 5.2.5 "Device Initialization": a driver that has not accepted the flush
          // command cannot ask for durability, so it gets it with each write.
          .write_through = options.write_through || (features & kBlkFeatureFlush) == 0};
}

}  // namespace

Result<std::unique_ptr<Blk>> Blk::Make(std::unique_ptr<BlockBackend> backend, BlkOptions options) {
  if (options.serial.size() > kBlkIdBytes) return Invalid("a disk's serial has at most 20 bytes");
  if (options.queue_count == 0 || options.queue_count > kMostQueues)
    return Invalid("a disk has 1 to 64 queues");
  if (!IsPowerOfTwo(options.queue_size) || options.queue_size < kLeastQueueSize ||
      options.queue_size > kMostQueueSize)
    return Invalid("a disk's queue size is a power of two from 4 to 1024");
  return std::unique_ptr<Blk>(new Blk(std::move(backend), std::move(options)));
}

Blk::Blk(std::unique_ptr<BlockBackend> backend, BlkOptions options)
    : options_(std::move(options)),
      backend_(std::move(backend)),
      queue_sizes_(options_.queue_count, options_.queue_size),
      features_(OfferedFeatures(backend_->limits(), options_)),
      config_(ConfigOf(backend_->limits(), options_, features_)) {}

void Blk::ReadConfig(uint32_t offset, std::span<std::byte> data) const {
  ReadConfigBytes(std::as_bytes(std::span(&config_, 1)), offset, data);
}

// `writeback` is the only field a driver may write, and only with VIRTIO_BLK_F_CONFIG_WCE.
void Blk::WriteConfig(uint32_t /*offset*/, std::span<const std::byte> /*data*/) {}

Result<void> Blk::Start(Session session) {
  disk_ = {.backend = backend_.get(),
           .rules = RulesOf(backend_->limits(), options_, session.features),
           .id = {},
           .name = options_.name,
           .statistics = &statistics_};
  std::ranges::copy(std::as_bytes(std::span(options_.serial)), disk_.id.begin());
  for (SessionQueue& queue : session.queues) {
    auto channel = BlkChannel::Start(disk_, std::move(queue), *session.notifier);
    if (!channel.ok()) {
      Stop();
      return std::move(channel).error();
    }
    channels_.push_back(std::move(channel).value());
  }
  return {};
}

void Blk::Stop() { channels_.clear(); }

}  // namespace skiff::virtio
