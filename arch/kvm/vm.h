#pragma once

#include <cstdint>
#include <memory>

#include "arch/kvm/kvm.h"
#include "arch/kvm/vcpu.h"
#include "base/guest_memory.h"
#include "base/result.h"
#include "base/unique_fd.h"
#include "devices/doorbell.h"

namespace skiff::kvm {

// A virtual machine of the host's KVM: its memory slots, its doorbells, its vCPUs. Composed by one
// thread; the doorbells are thread-safe.
//
// The VM outlives its vCPUs; guest memory outlives the VM.
class Vm final : public DoorbellBinder {
 public:
  static Result<std::unique_ptr<Vm>> Create(const Kvm& kvm);

  // One slot per region, once. The memory must outlive the VM.
  Result<void> MapMemory(const GuestMemory& memory);

  Result<std::unique_ptr<Vcpu>> CreateVcpu(uint32_t index);

  Result<void> BindDoorbell(GuestAddr address, int event_fd) override;
  void UnbindDoorbell(GuestAddr address, int event_fd) override;

  int fd() const { return fd_.get(); }

 private:
  Vm(UniqueFd fd, size_t run_area_bytes) : fd_(std::move(fd)), run_area_bytes_(run_area_bytes) {}
  const UniqueFd fd_;
  const size_t run_area_bytes_;
};

}  // namespace skiff::kvm
