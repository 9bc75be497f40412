#pragma once

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "devices/virtio/blk/blk.h"
#include "devices/virtio/negotiation.h"
#include "tests/fakes/driver.h"
#include "tests/fakes/driver_queue.h"
#include "tests/fakes/fake_interrupts.h"
#include "tests/fakes/guest_ram.h"
#include "tests/fakes/memory_disk.h"

namespace skiff::fakes {

struct DiskRigOptions {
  uint64_t bytes = 1024 * 1024;
  BlockLimits limits = MemoryDisk::DefaultLimits(1024 * 1024);
  virtio::BlkOptions blk{.name = "rig"};
  uint64_t refused_features = 0;  // offered, but not accepted by the driver
  uint16_t queue_size = 64;       // of each queue
  uint64_t ram_bytes = 16 * 1024 * 1024;
};

inline constexpr uint8_t kUnanswered = 0xff;  // as a status: nobody wrote one

struct DiskOutcome {
  uint8_t status = kUnanswered;
  uint32_t length = 0;  // as the used ring has it
  bool operator==(const DiskOutcome&) const = default;
};

// A virtio-blk device over a MemoryDisk, with a driver at its first queues, started. Used by one
// thread, but for the parts that say otherwise.
class DiskRig {
 public:
  explicit DiskRig(DiskRigOptions options = {});

  void Restart();  // resets the device and starts it with fresh queues

  // One request: waits for its answer and reads the status where a driver looks for it, in the
  // last byte of the last writable buffer. nullopt when no answer comes.
  std::optional<DiskOutcome> Run(std::initializer_list<DriverBuffer> buffers) {
    return Run(std::span(buffers.begin(), buffers.size()));
  }
  std::optional<DiskOutcome> Run(std::span<const DriverBuffer> buffers);
  std::optional<DiskOutcome> RunIndirect(std::span<const DriverBuffer> buffers);
  // The usual framing.
  std::optional<DiskOutcome> Read(uint64_t sector, GuestAddr data, uint32_t length);
  std::optional<DiskOutcome> Write(uint64_t sector, GuestAddr data, uint32_t length);
  std::optional<DiskOutcome> Flush();
  std::optional<DiskOutcome> Command(virtio::BlkRequestType type, std::span<const std::byte> data);

  DriverBuffer Header(virtio::BlkRequestType type, uint64_t sector);
  DriverBuffer Status();

  // The next answer, after an interrupt if need be. nullopt after ten seconds.
  std::optional<UsedElement> WaitForAnswer(uint16_t queue_index = 0);
  void Kick(uint16_t queue_index = 0) { negotiation->Kick(queue_index); }
  bool needs_reset() const {
    return (negotiation->status() & virtio::kStatusDeviceNeedsReset) != 0;
  }
  DriverQueue& queue(uint16_t index = 0) { return *queues_[index]; }
  virtio::BlkConfig Config() const;

  const DiskRigOptions options;
  GuestRam ram;
  std::shared_ptr<MemoryDiskState> disk;
  FakeInterrupts interrupts;
  std::unique_ptr<virtio::Blk> blk;
  std::unique_ptr<virtio::Negotiation> negotiation;
  uint64_t features = 0;  // accepted

 private:
  std::optional<GuestAddr> StatusByte(std::span<const DriverBuffer> buffers) const;
  void MarkUnanswered(std::span<const DriverBuffer> buffers);
  std::optional<DiskOutcome> Await(std::span<const DriverBuffer> buffers);

  std::vector<std::unique_ptr<DriverQueue>> queues_;
  uint64_t seen_interrupts_ = 0;
};

}  // namespace skiff::fakes
