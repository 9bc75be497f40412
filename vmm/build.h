#pragma once

#include <vector>

#include "arch/machine.h"
#include "base/result.h"
#include "devices/character_port.h"
#include "devices/virtio/blk/blk.h"
#include "vmm/config.h"

namespace skiff {

// The whole machine: every device, in the order the guest will find it. Returns its disks, which
// belong to the machine. Errors name the disk.
Result<std::vector<const virtio::Blk*>> AddDevices(const Config& config, CharacterPort& console,
                                                   Machine& machine);

}  // namespace skiff
