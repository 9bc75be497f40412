#include "arch/kvm/vm.h"

#include <cerrno>
#include <string>

#include "base/log.h"

namespace skiff::kvm {

namespace {

// A write of any width and value to `address` signals `event_fd`: length 0 says so.
kvm_ioeventfd Doorbell(GuestAddr address, int event_fd, uint32_t flags) {
  kvm_ioeventfd doorbell{};
  doorbell.addr = address.value();
  doorbell.len = 0;
  doorbell.fd = event_fd;
  doorbell.flags = flags;
  return doorbell;
}

}  // namespace

Result<std::unique_ptr<Vm>> Vm::Create(const Kvm& kvm) {
  const int fd = TRY(Call(kvm.fd(), KVM_CREATE_VM, "KVM_CREATE_VM"));
  return std::unique_ptr<Vm>(new Vm(UniqueFd(fd), kvm.run_area_bytes()));
}

Result<void> Vm::MapMemory(const GuestMemory& memory) {
  uint32_t slot = 0;
  for (const GuestMemory::Region& region : memory.regions()) {
    kvm_userspace_memory_region argument{};
    argument.slot = slot++;
    argument.guest_phys_addr = region.range.start().value();
    argument.memory_size = region.range.length();
    argument.userspace_addr = reinterpret_cast<uintptr_t>(region.host);
    auto mapped = Call(fd(), KVM_SET_USER_MEMORY_REGION, "KVM_SET_USER_MEMORY_REGION", &argument);
    if (!mapped.ok())
      return std::move(mapped).error().While(
          "giving the guest " + std::to_string(region.range.length() >> 20) + " MiB of memory");
  }
  return {};
}

Result<std::unique_ptr<Vcpu>> Vm::CreateVcpu(uint32_t index) {
  auto vcpu_fd = Call(fd(), KVM_CREATE_VCPU, "KVM_CREATE_VCPU", index);
  if (!vcpu_fd.ok())
    return std::move(vcpu_fd).error().While("creating vCPU " + std::to_string(index));
  return Vcpu::Make(UniqueFd(*vcpu_fd), index, run_area_bytes_);
}

Result<void> Vm::BindDoorbell(GuestAddr address, int event_fd) {
  const kvm_ioeventfd doorbell = Doorbell(address, event_fd, 0);
  TRY(Call(fd(), KVM_IOEVENTFD, "KVM_IOEVENTFD", &doorbell));
  return {};
}

void Vm::UnbindDoorbell(GuestAddr address, int event_fd) {
  const kvm_ioeventfd doorbell = Doorbell(address, event_fd, KVM_IOEVENTFD_FLAG_DEASSIGN);
  const auto done = Call(fd(), KVM_IOEVENTFD, "KVM_IOEVENTFD", &doorbell);
  if (!done.ok()) LogWarning("taking back a doorbell: " + done.error().message());
}

}  // namespace skiff::kvm
