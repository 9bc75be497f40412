#pragma once

#include "base/position.h"
#include "base/result.h"

namespace skiff {

// Turns guest writes to an MMIO address into signals of an eventfd without leaving the kernel.
// arch/kvm implements it with KVM_IOEVENTFD (any width and value); without a binding the write
// arrives at the bus as any other. Thread-safe.
class DoorbellBinder {
 public:
  virtual ~DoorbellBinder() = default;
  virtual Result<void> BindDoorbell(GuestAddr address, int event_fd) = 0;
  // Takes back what BindDoorbell() made of the same arguments.
  virtual void UnbindDoorbell(GuestAddr address, int event_fd) = 0;
};

}  // namespace skiff
