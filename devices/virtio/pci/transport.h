#pragma once

#include <memory>

#include "base/result.h"
#include "devices/pci/function.h"
#include "devices/virtio/device.h"
#include "devices/virtio/pci/registers.h"

namespace skiff::virtio {

// A virtio device as a PCI function of a modern driver (VIRTIO 1.2, 4.1; not transitional), for
// pci::Root::Add(). Its BAR 0 holds all structures; MSI-X has a vector for the configuration and
// one for each queue, INTx is there for drivers without.
//
//   root.Add([&](const pci::Slot& slot) { return MakePciFunction(slot, std::move(device), host); })
//
// kUnsupported if the device has too many queues, kOutOfRange if the window for BARs is full.
Result<std::unique_ptr<pci::Function>> MakePciFunction(const pci::Slot& slot,
                                                       std::unique_ptr<Device> device,
                                                       const PciHost& host);

}  // namespace skiff::virtio
