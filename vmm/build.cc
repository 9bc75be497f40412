#include "vmm/build.h"

#include "devices/virtio/rng.h"
#include "disk/open.h"

namespace skiff {
namespace {

// What the guest shows as /sys/block/vdX/serial when the user gave none.
std::string SerialOf(const DiskConfig& disk, size_t index) {
  return disk.serial.empty() ? "skiff-disk" + std::to_string(index) : disk.serial;
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
    auto backend = TRY(OpenDisk(disk.open));
    auto blk = std::make_unique<virtio::Blk>(std::move(backend),
                                             virtio::BlkOptions{SerialOf(disk, disks.size())});
    disks.push_back(blk.get());
    TRY(machine.AddVirtio(std::move(blk)));
  }
  TRY(machine.AddVirtio(std::make_unique<virtio::Rng>()));
  return disks;
}

}  // namespace skiff
