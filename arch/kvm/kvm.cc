#include "arch/kvm/kvm.h"

#include <fcntl.h>
#include <sys/ioctl.h>

#include <cerrno>

namespace skiff::kvm {

namespace {

constexpr int kApiVersion = 12;  // the one that is documented as final

Error OpenError(const std::string& path, int os_error) {
  switch (os_error) {
    case ENOENT:
    case ENODEV:
    case ENXIO:
      return Unsupported(path +
                         ": this machine offers no KVM: load the module kvm_amd or kvm_intel, or "
                         "switch virtualisation on in its firmware (in a cloud machine: choose a "
                         "type with nested virtualisation), or use tests/lab/run");
    case EACCES:
    case EPERM:
      return Error::FromErrno(path, os_error)
          .While(
              "no permission to use KVM: join the group kvm (usermod -aG kvm USER, then log in "
              "again)");
    default:
      return Error::FromErrno("opening " + path, os_error);
  }
}

Error NotKvm(const std::string& path) {
  return Unsupported(path +
                     ": this is not the KVM device: remove it and load kvm_amd or kvm_intel");
}

}  // namespace

Result<int> Call(int fd, unsigned long request, std::string_view name, unsigned long argument) {
  for (;;) {
    const int result = ioctl(fd, request, argument);
    if (result >= 0) return result;
    if (errno != EINTR) return Error::FromErrno(name);
  }
}

Result<int> Call(int fd, unsigned long request, std::string_view name, const void* argument) {
  return Call(fd, request, name, reinterpret_cast<unsigned long>(argument));
}

Result<Kvm> Kvm::Open(std::span<const Requirement> requirements, const std::string& path) {
  UniqueFd fd(open(path.c_str(), O_RDWR | O_CLOEXEC));
  if (!fd.valid()) return OpenError(path, errno);

  const auto version = Call(fd.get(), KVM_GET_API_VERSION, "KVM_GET_API_VERSION");
  if (!version.ok()) return NotKvm(path);
  if (*version != kApiVersion)
    return Unsupported(path + ": KVM's API version is " + std::to_string(*version) +
                       ", skiff needs 12: run a Linux kernel of 2.6.22 or later");

  const auto area = Call(fd.get(), KVM_GET_VCPU_MMAP_SIZE, "KVM_GET_VCPU_MMAP_SIZE");
  if (!area.ok() || static_cast<size_t>(*area) < sizeof(kvm_run)) return NotKvm(path);

  Kvm kvm(std::move(fd), static_cast<size_t>(*area));
  for (const Requirement& need : requirements) {
    if (kvm.Extension(need.capability) > 0) continue;
    return Unsupported(path + ": this host's KVM lacks " + std::string(need.name) +
                       ", which skiff needs: run a newer Linux (4.11 has all of it), or use "
                       "tests/lab/run");
  }
  return kvm;
}

int Kvm::Extension(uint32_t capability) const {
  const auto value = Call(fd(), KVM_CHECK_EXTENSION, "KVM_CHECK_EXTENSION", capability);
  return value.ok() ? *value : 0;
}

uint32_t Kvm::max_vcpus() const {
  // Kernels without KVM_CAP_MAX_VCPUS mean the recommendation as the limit, and 4 without that
  // (Linux, Documentation/virt/kvm/api.rst, 4.7 "KVM_CREATE_VCPU").
  for (const uint32_t capability : {uint32_t{KVM_CAP_MAX_VCPUS}, uint32_t{KVM_CAP_NR_VCPUS}})
    if (const int count = Extension(capability); count > 0) return static_cast<uint32_t>(count);
  return 4;
}

}  // namespace skiff::kvm
