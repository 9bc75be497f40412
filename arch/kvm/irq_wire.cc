#include "arch/kvm/irq_wire.h"

#include "arch/kvm/kvm.h"
#include "base/log.h"

namespace skiff::kvm {

void IrqWire::Set(bool raise) {
  MutexLock lock(mutex_);
  if (raised_ == raise) return;
  raised_ = raise;

  kvm_irq_level level{};
  level.irq = gsi_;
  level.level = raise;
  const auto done = Call(vm_fd_, KVM_IRQ_LINE, "KVM_IRQ_LINE", &level);
  static LimitedLog log;
  if (!done.ok()) log.Warning("an interrupt is lost: " + done.error().message());
}

}  // namespace skiff::kvm
