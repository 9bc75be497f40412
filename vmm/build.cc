#include "vmm/build.h"

#include "devices/virtio/rng.h"
#include "disk/open.h"

namespace skiff {
namespace {

// What the guest shows as /sys/block/vdX/serial when the user gave none.
std::string SerialOf(const DiskConfig& disk, size_t index) {
  return disk.serial.empty() ? "skiff-disk" + std::to_string(index) : disk.serial;
}

// A write-through cache shows as one: the guest then sends no flushes in vain.
bool IsWriteThrough(CacheMode cache) {
  return cache == CacheMode::kWritethrough || cache == CacheMode::kDirectsync;
}

Result<std::unique_ptr<virtio::Blk>> OpenBlk(const DiskConfig& disk, size_t index) {
  std::unique_ptr<BlockBackend> backend = TRY(OpenDisk(disk.open));
  return virtio::Blk::Make(std::move(backend), {.name = "disk" + std::to_string(index),
                                                .serial = SerialOf(disk, index),
                                                .write_through = IsWriteThrough(disk.open.cache)});
}

}  // namespace

Result<std::vector<const virtio::Blk*>> AddDevices(const Config& config, CharacterPort& console,
                                                   Machine& machine) {
  TRY(machine.AddSerial(console));
  TRY(machine.AddRtc());
  TRY(machine.AddResetControl());
  TRY(machine.AddPanicDevice());
  std::vector<const virtio::Blk*> disks;
  for (const DiskConfig& disk : config.disks) {
    std::unique_ptr<virtio::Blk> blk = TRY(OpenBlk(disk, disks.size()));
    disks.push_back(blk.get());
    TRY(machine.AddVirtio(std::move(blk)));
  }
  TRY(machine.AddVirtio(std::make_unique<virtio::Rng>()));
  return disks;
}

}  // namespace skiff
