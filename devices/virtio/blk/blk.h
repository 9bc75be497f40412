#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "devices/virtio/blk/channel.h"
#include "devices/virtio/blk/spec_blk.h"
#include "devices/virtio/device.h"
#include "disk/block.h"

namespace skiff::virtio {

struct BlkOptions {
  std::string name = "disk";   // for messages; the threads' name is cut from it
  std::string serial{};        // what the guest sees as the disk's id; at most 20 bytes
  uint16_t queue_count = 1;    // 1 to 64
  uint16_t queue_size = 256;   // a power of two, 4 to 1024
  bool write_through = false;  // no flush command; every write is durable before it is answered
  bool offer_discard = true;   // discard and write-zeroes, where the disk can do them
};

// The block device (VIRTIO 1.2, 5.2 "Block Device") over a disk of any format. Each queue that the
// driver enables runs on a thread of its own.
class Blk final : public Device {
 public:
  // kInvalid for options that cannot be met. `backend` and its limits do not change.
  static Result<std::unique_ptr<Blk>> Make(std::unique_ptr<BlockBackend> backend,
                                           BlkOptions options);
  ~Blk() override { Stop(); }

  DeviceType type() const override { return DeviceType::kBlock; }
  uint64_t offered_features() const override { return features_; }
  std::span<const uint16_t> max_queue_sizes() const override { return queue_sizes_; }
  void ReadConfig(uint32_t offset, std::span<std::byte> data) const override;
  void WriteConfig(uint32_t offset, std::span<const std::byte> data) override;
  Result<void> Start(Session session) override;
  void Stop() override;

  const BlkStatistics& statistics() const { return statistics_; }
  // Whether a driver has ever sent a request. Thread-safe.
  bool touched() const { return statistics_.requests.load(std::memory_order_relaxed) != 0; }

 private:
  Blk(std::unique_ptr<BlockBackend> backend, BlkOptions options);

  const BlkOptions options_;
  const std::unique_ptr<BlockBackend> backend_;
  const std::vector<uint16_t> queue_sizes_;
  const uint64_t features_;
  const BlkConfig config_;
  BlkStatistics statistics_;
  BlkDisk disk_;                                       // of the session
  std::vector<std::unique_ptr<BlkChannel>> channels_;  // empty while idle
};

}  // namespace skiff::virtio
