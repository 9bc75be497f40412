#pragma once

#include <atomic>
#include <cstdint>
#include <vector>

#include "base/mutex.h"
#include "devices/irq.h"
#include "devices/pci/msix.h"
#include "devices/virtio/negotiation.h"
#include "devices/virtio/pci/spec_pci.h"

namespace skiff::virtio {

// Notifications to the driver over PCI (VIRTIO 1.2, 4.1.5.1 to 4.1.5.4): one MSI-X vector for each
// event that the driver gave one, or INTx with the ISR status.
//
// Thread-safe. With MSI-X a notification takes the lock of its own vector and no other.
// The controller and the pin outlive it.
class PciInterrupts final : public Interrupts {
 public:
  PciInterrupts(uint16_t queues, MsiController& controller, IrqLine& intx);

  // Interrupts.
  void QueueInterrupt(uint16_t queue_index) override EXCLUDES(mutex_);
  void ConfigInterrupt() override EXCLUDES(mutex_);

  // The driver's side. A vector that does not exist, or for which the interrupt controller has no
  // route left, reads back as kMsiNoVector. `queue_index` may be out of range.
  uint16_t config_vector() const { return config_vector_.load(std::memory_order_acquire); }
  void SetConfigVector(uint16_t vector);
  uint16_t QueueVector(uint16_t queue_index) const;
  void SetQueueVector(uint16_t queue_index, uint16_t vector);
  uint8_t ReadIsr() EXCLUDES(mutex_);  // clears it, and lowers the pin

  // The function's configuration space: Interrupt Status; and what to call when MSI-X message
  // control or Command may have changed.
  bool InterruptStatus() const EXCLUDES(mutex_);
  void ConfigSpaceChanged(uint16_t msix_control, bool intx_disabled) EXCLUDES(mutex_);

  // VIRTIO device reset: vectors and ISR go. The MSI-X table is PCI's and stays.
  void ResetDevice() EXCLUDES(mutex_);

  pci::Msix& msix() { return msix_; }
  const pci::Msix& msix() const { return msix_; }

 private:
  uint16_t Usable(uint16_t vector);
  void SetIsr(uint8_t bits) EXCLUDES(mutex_);
  void UpdatePinLocked() REQUIRES(mutex_);

  pci::Msix msix_;
  IrqLine& intx_;
  std::atomic<uint16_t> config_vector_{kMsiNoVector};
  std::vector<std::atomic<uint16_t>> queue_vectors_;  // never resized

  mutable Mutex mutex_;
  uint8_t isr_ GUARDED_BY(mutex_) = 0;
  bool intx_disabled_ GUARDED_BY(mutex_) = false;
};

}  // namespace skiff::virtio
