#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "base/result.h"
#include "base/unique_fd.h"
#include "third_party/linux_kvm.h"

namespace skiff::kvm {

// A capability of the host's KVM that a machine cannot do without.
struct Requirement {
  uint32_t capability;    // KVM_CAP_…
  std::string_view name;  // as the error shows it: "KVM_CAP_IRQFD"
};

// The host's /dev/kvm: what it can do. Immutable, so safe to share between threads.
class Kvm {
 public:
  // Opens the device and checks its API version and `requirements`. Errors are one line that says
  // what is missing and what to do about it; kUnsupported when KVM is there but lacks something.
  static Result<Kvm> Open(std::span<const Requirement> requirements,
                          const std::string& path = "/dev/kvm");

  // 0 if absent, else a positive number whose meaning depends on the capability.
  int Extension(uint32_t capability) const;
  // The most vCPUs a VM may have. (KVM_CAP_NR_VCPUS is what it recommends: the host's CPUs.)
  uint32_t max_vcpus() const;
  size_t run_area_bytes() const { return run_area_bytes_; }  // of each vCPU's kvm_run mapping
  int fd() const { return fd_.get(); }

 private:
  Kvm(UniqueFd fd, size_t run_area_bytes) : fd_(std::move(fd)), run_area_bytes_(run_area_bytes) {}
  UniqueFd fd_;
  size_t run_area_bytes_;
};

// ioctl(2), again after EINTR, as a Result with the call's name: "KVM_CREATE_VM: EBUSY …".
// KVM_RUN is not called through these.
Result<int> Call(int fd, unsigned long request, std::string_view name, unsigned long argument = 0);
Result<int> Call(int fd, unsigned long request, std::string_view name, const void* argument);

}  // namespace skiff::kvm
