#include "devices/virtio/blk/request.h"

#include <optional>

#include "base/arith.h"
#include "devices/virtio/blk/spec_blk.h"
#include "devices/virtio/chain_io.h"

namespace skiff::virtio {
namespace {

constexpr BlkVerdict kOk{kBlkStatusOk};
constexpr BlkVerdict kIoErr{kBlkStatusIoErr};
constexpr BlkVerdict kUnsupp{kBlkStatusUnsupp};

// The bytes that a request names, if the disk has them all and can be addressed that finely.
std::optional<DiskRange> RangeOnDisk(uint64_t sector, uint64_t bytes, const BlkRules& rules) {
  const auto start = CheckedMultiply(sector, kBlkSectorBytes);
  if (!start.has_value()) return std::nullopt;
  const auto range = DiskRange::Make(DiskOffset(*start), bytes);
  if (!range.ok() || !rules.disk.Contains(range.value())) return std::nullopt;
  const bool aligned =
      IsAligned(*start, rules.logical_block) && IsAligned(bytes, uint64_t{rules.logical_block});
  return aligned ? std::optional(range.value()) : std::nullopt;
}

// `bytes` of payload lie where the operation wants them; `misplaced` are those on the other side.
BlkAction ParseTransfer(BlockOp op, uint64_t sector, uint64_t bytes, uint64_t misplaced,
                        const BlkRules& rules) {
  // VIRTIO 1.2, 5.2.6.2: writes to a read-only device fail and write nothing.
  if (op == BlockOp::kWrite && rules.read_only) return kIoErr;
  if (misplaced != 0) return kIoErr;
  const auto range = RangeOnDisk(sector, bytes, rules);
  if (!range.has_value()) return kIoErr;
  if (range->empty()) return kOk;
  return BlkTransfer{
      .op = op, .range = *range, .force_unit_access = op == BlockOp::kWrite && rules.write_through};
}

// A discard or write-zeroes request. The device says that it takes one segment in each
// (max_discard_seg, max_write_zeroes_seg); a request with more fails whole.
BlkAction ParseRangeCommand(BlockOp op, const DescriptorChain& chain, uint64_t payload,
                            const BlkRules& rules) {
  const bool zeroes = op == BlockOp::kWriteZeroes;
  if (rules.read_only) return kIoErr;
  if (!(zeroes ? rules.write_zeroes : rules.discard)) return kUnsupp;
  const auto segment = ReadAt<BlkDiscardWriteZeroes>(chain.readable, sizeof(BlkRequestHeader));
  if (payload != sizeof(BlkDiscardWriteZeroes) || !segment.has_value()) return kIoErr;

  // VIRTIO 1.2, 5.2.6.2: unknown flags are unsupported, and so is "unmap" on a discard.
  const uint32_t flags = segment->flags;
  if ((flags & ~(zeroes ? kBlkWriteZeroesFlagUnmap : 0)) != 0) return kUnsupp;
  const uint64_t bytes = uint64_t{segment->num_sectors} * kBlkSectorBytes;
  if (bytes > (zeroes ? rules.max_zero : rules.max_discard)) return kIoErr;
  const auto range = RangeOnDisk(segment->sector, bytes, rules);
  if (!range.has_value()) return kIoErr;
  if (range->empty()) return kOk;
  return BlkTransfer{.op = op,
                     .range = *range,
                     .may_unmap = zeroes && flags != 0,
                     .force_unit_access = zeroes && rules.write_through};
}

}  // namespace

BlkAction ParseBlkRequest(const DescriptorChain& chain, const BlkRules& rules) {
  const auto header = ReadAt<BlkRequestHeader>(chain.readable, 0);
  if (chain.faulty || !header.has_value()) return kIoErr;
  const uint64_t to_disk = ByteCount(chain.readable) - sizeof(BlkRequestHeader);
  const uint64_t from_disk = ByteCount(chain.writable) - 1;

  switch (static_cast<BlkRequestType>(uint32_t{header->type})) {
    case BlkRequestType::kIn:
      return ParseTransfer(BlockOp::kRead, header->sector, from_disk, to_disk, rules);
    case BlkRequestType::kOut:
      return ParseTransfer(BlockOp::kWrite, header->sector, to_disk, from_disk, rules);
    case BlkRequestType::kFlush:
      return BlkTransfer{.op = BlockOp::kFlush};
    case BlkRequestType::kGetId:
      return BlkGetId{};
    case BlkRequestType::kDiscard:
      return ParseRangeCommand(BlockOp::kDiscard, chain, to_disk, rules);
    case BlkRequestType::kWriteZeroes:
      return ParseRangeCommand(BlockOp::kWriteZeroes, chain, to_disk, rules);
    case BlkRequestType::kGetLifetime:
    case BlkRequestType::kSecureErase:
      break;
  }
  return kUnsupp;
}

}  // namespace skiff::virtio
