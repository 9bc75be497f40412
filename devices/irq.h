#pragma once

#include <cstdint>
#include <memory>

#include "base/result.h"

namespace skiff {

// A level-triggered wire into the interrupt controller. arch/kvm implements it with
// KVM_IRQ_LINE; tests with a counter. Thread-safe. Raising a raised line changes nothing.
class IrqLine {
 public:
  virtual ~IrqLine() = default;
  virtual void Raise() = 0;
  virtual void Lower() = 0;
};

// What a PCI function writes to raise a message-signalled interrupt (PCI 3.0, 6.8).
struct MsiMessage {
  uint64_t address;
  uint32_t data;
};

// One message-signalled interrupt of one device. arch/kvm implements it with an irqfd and an
// entry of the GSI routing table.
class MsiInterrupt {
 public:
  virtual ~MsiInterrupt() = default;

  // The message that later signals send. Called rarely (the guest programs a vector), never
  // concurrently with itself; Signal() may run on other threads meanwhile.
  virtual Result<void> SetMessage(const MsiMessage& message) = 0;

  // Delivers once. Thread-safe, never blocks. Without a message so far it is lost.
  virtual void Signal() = 0;
};

class MsiController {
 public:
  virtual ~MsiController() = default;
  // kNoSpace when the interrupt controller has no route left.
  virtual Result<std::unique_ptr<MsiInterrupt>> AllocateMsi() = 0;
};

}  // namespace skiff
