#include "devices/virtio/pci/doorbells.h"

#include <string>

#include "base/log.h"

namespace skiff::virtio {

Doorbells::Doorbells(DoorbellBinder& binder, std::vector<int> event_fds) : binder_(binder) {
  for (const int event_fd : event_fds)
    bells_.push_back({.event_fd = event_fd, .enabled = false, .bound_at = {}});
}

Doorbells::~Doorbells() { MoveTo(std::nullopt); }

void Doorbells::MoveTo(std::optional<GuestAddr> first) {
  MutexLock lock(mutex_);
  if (first == first_) return;
  UnbindLocked();
  first_ = first;
  BindLocked();
}

void Doorbells::Enable(uint16_t queue_index) {
  MutexLock lock(mutex_);
  if (queue_index >= bells_.size()) return;
  bells_[queue_index].enabled = true;
  BindLocked();
}

void Doorbells::DisableAll() {
  MutexLock lock(mutex_);
  UnbindLocked();
  for (Bell& bell : bells_) bell.enabled = false;
}

void Doorbells::BindLocked() {
  if (!first_) return;
  for (size_t i = 0; i < bells_.size(); ++i) {
    Bell& bell = bells_[i];
    if (!bell.enabled || bell.bound_at) continue;
    const GuestAddr address = *first_ + i * kDoorbellStride;
    auto bound = binder_.BindDoorbell(address, bell.event_fd);
    if (bound.ok()) {
      bell.bound_at = address;
      continue;
    }
    static LimitedLog log;
    log.Warning(std::string("virtio doorbell not bound: ").append(bound.error().message()));
  }
}

void Doorbells::UnbindLocked() {
  for (Bell& bell : bells_) {
    if (bell.bound_at) binder_.UnbindDoorbell(*bell.bound_at, bell.event_fd);
    bell.bound_at.reset();
  }
}

}  // namespace skiff::virtio
