#pragma once

#include <cstdint>
#include <variant>

#include "base/position.h"
#include "devices/virtio/queue.h"
#include "disk/block.h"

namespace skiff::virtio {

// What requests are judged by. Constant while a device runs.
struct BlkRules {
  DiskRange disk{};  // all of it
  uint32_t logical_block = 512;
  bool read_only = false;
  bool discard = false;        // negotiated
  bool write_zeroes = false;   // negotiated
  uint64_t max_discard = 0;    // bytes
  uint64_t max_zero = 0;       // bytes
  bool write_through = false;  // each write is durable before it is answered
};

// What becomes of one request.
struct BlkTransfer {  // the disk has to do something
  BlockOp op;
  DiskRange range{};
  bool may_unmap = false;
  bool force_unit_access = false;
};
struct BlkGetId {};  // the driver asks for the serial number
struct BlkVerdict {  // nothing to do but to answer
  uint8_t status;
};
using BlkAction = std::variant<BlkTransfer, BlkGetId, BlkVerdict>;

// VIRTIO 1.2, 5.2.6 "Device Operation". Where the driver cuts the request into buffers does not
// matter: its first 16 readable bytes are the header, its last writable byte is the status, and
// what is left is payload. Looks at guest memory for the header and the segments of a discard
// only, each byte once. The chain has a place for the status.
BlkAction ParseBlkRequest(const DescriptorChain& chain, const BlkRules& rules);

}  // namespace skiff::virtio
