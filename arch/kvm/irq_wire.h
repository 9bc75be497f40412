#pragma once

#include <cstdint>

#include "base/mutex.h"
#include "devices/irq.h"

namespace skiff::kvm {

// The wire to one global system interrupt of the interrupt controllers in the kernel, low at first
// and after its destructor. At most one wire for each: devices that share an interrupt share the
// wire (devices/pci/intx.h). Thread-safe. The VM outlives it.
class IrqWire final : public IrqLine {
 public:
  IrqWire(int vm_fd, uint32_t gsi) : vm_fd_(vm_fd), gsi_(gsi) {}
  ~IrqWire() override { Set(false); }
  IrqWire(const IrqWire&) = delete;
  IrqWire& operator=(const IrqWire&) = delete;

  void Raise() override { Set(true); }
  void Lower() override { Set(false); }

 private:
  void Set(bool raise) EXCLUDES(mutex_);

  const int vm_fd_;
  const uint32_t gsi_;
  Mutex mutex_;  // held across KVM_IRQ_LINE, so that levels reach KVM in order
  bool raised_ GUARDED_BY(mutex_) = false;
};

}  // namespace skiff::kvm
