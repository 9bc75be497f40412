#pragma once

#include <cstdint>
#include <map>
#include <memory>

#include "base/mutex.h"
#include "devices/irq.h"

namespace skiff::kvm {

// The wires into the interrupt controllers in the kernel. Several lines on one global system
// interrupt make a wired OR: it is high while any of them is raised. Thread-safe.
//
// Outlives its lines. The VM outlives both.
class IrqLines {
 public:
  explicit IrqLines(int vm_fd) : vm_fd_(vm_fd) {}

  // A new wire to `gsi`, low. Its destructor lowers it.
  std::unique_ptr<IrqLine> MakeLine(uint32_t gsi);

 private:
  class Line;
  // Adds or takes back one raised line; tells KVM when the OR changes.
  void Change(uint32_t gsi, bool raise) EXCLUDES(mutex_);

  const int vm_fd_;
  Mutex mutex_;  // held across KVM_IRQ_LINE, so that levels reach KVM in order
  std::map<uint32_t, uint32_t> raised_ GUARDED_BY(mutex_);  // by GSI: how many lines are high
};

}  // namespace skiff::kvm
