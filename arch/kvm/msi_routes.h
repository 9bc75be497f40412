#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "base/event_fd.h"
#include "base/mutex.h"
#include "devices/irq.h"
#include "third_party/linux_kvm.h"

namespace skiff::kvm {

// Owner of the VM's table of interrupt routes. KVM replaces the whole table with each update, so
// all of it is kept here: the fixed routes of the machine's interrupt controllers, then one entry
// per message-signalled interrupt that has a message. Thread-safe.
//
// Outlives its interrupts. The VM outlives both.
class MsiRoutes final : public MsiController {
 public:
  // Installs `fixed`. Message-signalled interrupts get the GSIs [first_gsi, end_gsi), none of
  // which `fixed` uses.
  static Result<std::unique_ptr<MsiRoutes>> Make(int vm_fd,
                                                 std::vector<kvm_irq_routing_entry> fixed,
                                                 uint32_t first_gsi, uint32_t end_gsi);

  Result<std::unique_ptr<MsiInterrupt>> AllocateMsi() override EXCLUDES(mutex_);

 private:
  class Interrupt;

  MsiRoutes(int vm_fd, std::vector<kvm_irq_routing_entry> fixed, uint32_t first_gsi,
            uint32_t end_gsi)
      : vm_fd_(vm_fd), fixed_(std::move(fixed)), first_gsi_(first_gsi), end_gsi_(end_gsi) {}

  Result<uint32_t> ReserveGsi() EXCLUDES(mutex_);
  void ReleaseGsi(uint32_t gsi) EXCLUDES(mutex_);
  Result<void> SetRoute(uint32_t gsi, const MsiMessage& message) EXCLUDES(mutex_);
  Result<void> InstallLocked() REQUIRES(mutex_);

  const int vm_fd_;
  const std::vector<kvm_irq_routing_entry> fixed_;
  const uint32_t first_gsi_;
  const uint32_t end_gsi_;

  Mutex mutex_;  // held across KVM_SET_GSI_ROUTING, so that tables reach KVM in order
  std::map<uint32_t, std::optional<MsiMessage>> messages_ GUARDED_BY(mutex_);  // by reserved GSI
  // True while KVM's table has entries of released GSIs: they are harmless until one is reserved
  // again, so the table is replaced then and not once per interrupt at the end of a machine.
  bool stale_ GUARDED_BY(mutex_) = false;
};

}  // namespace skiff::kvm
