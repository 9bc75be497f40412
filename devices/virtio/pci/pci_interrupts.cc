#include "devices/virtio/pci/pci_interrupts.h"

#include <string>
#include <utility>

#include "base/log.h"

namespace skiff::virtio {

PciInterrupts::PciInterrupts(uint16_t queues, MsiController& controller, IrqLine& intx)
    : msix_(static_cast<uint16_t>(1 + queues), controller), intx_(intx), queue_vectors_(queues) {
  for (auto& vector : queue_vectors_) vector.store(kMsiNoVector);
}

void PciInterrupts::QueueInterrupt(uint16_t queue_index) {
  if (!msix_.enabled()) return SetIsr(kIsrQueueInterrupt);
  msix_.Signal(QueueVector(queue_index));  // kMsiNoVector is no vector: nothing happens
}

void PciInterrupts::ConfigInterrupt() {
  // VIRTIO 1.2, 4.1.5.4.1 "Device Requirements: Notification of Device Configuration Changes": the
  // bit is set first, with MSI-X too.
  SetIsr(kIsrDeviceConfigurationInterrupt);
  if (msix_.enabled()) msix_.Signal(config_vector());
}

void PciInterrupts::SetConfigVector(uint16_t vector) { config_vector_.store(Usable(vector)); }

uint16_t PciInterrupts::QueueVector(uint16_t queue_index) const {
  if (queue_index >= queue_vectors_.size()) return kMsiNoVector;
  return queue_vectors_[queue_index].load(std::memory_order_acquire);
}

void PciInterrupts::SetQueueVector(uint16_t queue_index, uint16_t vector) {
  if (queue_index >= queue_vectors_.size()) return;
  queue_vectors_[queue_index].store(Usable(vector));
}

uint8_t PciInterrupts::ReadIsr() {
  MutexLock lock(mutex_);
  const uint8_t isr = std::exchange(isr_, uint8_t{0});
  UpdatePinLocked();
  return isr;
}

// PCI 3.0, 6.2.3: the bit does not depend on Interrupt Disable. VIRTIO 1.2, 4.1.5.3.1: with MSI-X
// disabled it is the logical OR of the ISR's bits.
bool PciInterrupts::InterruptStatus() const {
  MutexLock lock(mutex_);
  return isr_ != 0 && !msix_.enabled();
}

void PciInterrupts::ConfigSpaceChanged(uint16_t msix_control, bool intx_disabled) {
  msix_.WriteControl(msix_control);
  MutexLock lock(mutex_);
  intx_disabled_ = intx_disabled;
  UpdatePinLocked();
}

void PciInterrupts::ResetDevice() {
  config_vector_.store(kMsiNoVector);
  for (auto& vector : queue_vectors_) vector.store(kMsiNoVector);
  MutexLock lock(mutex_);
  isr_ = 0;
  UpdatePinLocked();
}

// VIRTIO 1.2, 4.1.5.1.2.1 "Device Requirements: MSI-X Vector Configuration".
uint16_t PciInterrupts::Usable(uint16_t vector) {
  if (vector >= msix_.vectors()) return kMsiNoVector;
  auto reserved = msix_.Reserve(vector);
  if (reserved.ok()) return vector;
  static LimitedLog log;
  log.Warning(std::string("virtio MSI-X vector refused: ").append(reserved.error().message()));
  return kMsiNoVector;
}

void PciInterrupts::SetIsr(uint8_t bits) {
  MutexLock lock(mutex_);
  isr_ = static_cast<uint8_t>(isr_ | bits);
  UpdatePinLocked();
}

// The pin remembers its level, so saying it again costs nothing.
void PciInterrupts::UpdatePinLocked() {
  if (isr_ != 0 && !intx_disabled_ && !msix_.enabled()) return intx_.Raise();
  intx_.Lower();
}

}  // namespace skiff::virtio
