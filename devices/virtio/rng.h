#pragma once

#include <array>
#include <memory>

#include "base/log.h"
#include "devices/virtio/device.h"
#include "devices/virtio/worker.h"

namespace skiff::virtio {

// The entropy device (VIRTIO 1.2, 5.4 "Entropy Device"): random bytes of the host's kernel.
class Rng final : public Device {
 public:
  Rng() = default;
  ~Rng() override { Stop(); }

  DeviceType type() const override { return DeviceType::kEntropy; }
  uint64_t offered_features() const override { return 0; }
  std::span<const uint16_t> max_queue_sizes() const override { return kQueueSizes; }
  void ReadConfig(uint32_t offset, std::span<std::byte> data) const override;
  void WriteConfig(uint32_t offset, std::span<const std::byte> data) override;
  Result<void> Start(Session session) override;
  void Stop() override;

 private:
  static constexpr std::array<uint16_t, 1> kQueueSizes{64};

  void OnKick();

  LimitedLog log_;
  Session session_{};
  EventLoop* loop_ = nullptr;       // the worker's
  std::unique_ptr<Worker> worker_;  // null while idle
};

}  // namespace skiff::virtio
