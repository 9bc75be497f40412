// Exit status 0 if this machine's /dev/kvm can run unmodified x86-64 guests; else 1 and one line
// on stderr that says why not. An open() of /dev/kvm or a version number does not tell: there are
// hosts whose KVM interprets guests in software and stops at the first instruction its
// interpreter lacks. So this program runs such instructions in a guest.

#include <fcntl.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

#include "base/mapping.h"
#include "base/result.h"
#include "base/unique_fd.h"
#include "third_party/linux_kvm.h"

// The guest: 64-bit code at privilege level 0. It computes with SSE2, with POPCNT and, if RDI is
// not 0, with BMI2, and writes the sum to a port. All of these are in every processor that
// Debian's amd64 user space meets, and none is known to KVM's instruction emulator.
asm(R"(
  .pushsection .rodata
  .globl kvm_probe_guest, kvm_probe_guest_end
kvm_probe_guest:
  mov $0x1000000020, %rax
  movq %rax, %xmm0
  mov $0x0200000003, %rax
  movq %rax, %xmm1
  paddq %xmm1, %xmm0
  movq %xmm0, %rbx          # 0x1200000023
  popcnt %rbx, %rbx         # 5
  test %rdi, %rdi
  jz 1f
  mov $7, %rdx
  mov $6, %rcx
  mulx %rcx, %rax, %rcx     # RCX:RAX = RDX * RCX = 42
  add %rax, %rbx
1:
  mov %ebx, %eax
  mov $0x510, %dx
  out %eax, %dx
  hlt
kvm_probe_guest_end:
  .popsection
)");
extern "C" const char kvm_probe_guest[];
extern "C" const char kvm_probe_guest_end[];

namespace skiff {
namespace {

constexpr uint16_t kResultPort = 0x510;
constexpr uint32_t kResult = 5;
constexpr uint32_t kResultWithBmi2 = kResult + 42;
constexpr unsigned kTimeLimitSeconds = 10;

// The guest's memory: a page for each table of one 2 MiB identity mapping, and the code.
constexpr size_t kMemoryBytes = 64 << 10;
constexpr uint64_t kPml4 = 0x1000;
constexpr uint64_t kPageDirectoryPointers = 0x2000;
constexpr uint64_t kPageDirectory = 0x3000;
constexpr uint64_t kCode = 0x4000;

struct Capability {
  int number;
  const char* name;
};
constexpr Capability kNeeded[] = {
    {KVM_CAP_USER_MEMORY, "USER_MEMORY"},
    {KVM_CAP_SET_TSS_ADDR, "SET_TSS_ADDR"},
    {KVM_CAP_SET_IDENTITY_MAP_ADDR, "SET_IDENTITY_MAP_ADDR"},
    {KVM_CAP_EXT_CPUID, "EXT_CPUID"},
    {KVM_CAP_IRQCHIP, "IRQCHIP"},
    {KVM_CAP_PIT2, "PIT2"},
    {KVM_CAP_IRQ_ROUTING, "IRQ_ROUTING"},
    {KVM_CAP_IRQFD, "IRQFD"},
    {KVM_CAP_IOEVENTFD, "IOEVENTFD"},
    {KVM_CAP_SIGNAL_MSI, "SIGNAL_MSI"},
    {KVM_CAP_MP_STATE, "MP_STATE"},
    {KVM_CAP_IMMEDIATE_EXIT, "IMMEDIATE_EXIT"},
};

// An ioctl whose failure says its name.
template <typename Argument>
Result<int> Call(const UniqueFd& fd, unsigned long request, const char* name, Argument argument) {
  const int answer = ioctl(fd.get(), request, argument);
  if (answer < 0) return Error::FromErrno(name);
  return answer;
}

// An ioctl without argument that makes a descriptor.
Result<UniqueFd> CallForFd(const UniqueFd& fd, unsigned long request, const char* name) {
  const int made = TRY(Call(fd, request, name, 0));
  return UniqueFd(made);
}

Result<UniqueFd> OpenKvm() {
  UniqueFd kvm(open("/dev/kvm", O_RDWR | O_CLOEXEC));
  if (!kvm.valid()) return Error::FromErrno("opening /dev/kvm");
  const int version = TRY(Call(kvm, KVM_GET_API_VERSION, "KVM_GET_API_VERSION", 0));
  if (version != KVM_API_VERSION) {
    return Unsupported("KVM's API version is " + std::to_string(version) + ", not 12");
  }
  for (const auto& [number, name] : kNeeded) {
    const int present = TRY(Call(kvm, KVM_CHECK_EXTENSION, "KVM_CHECK_EXTENSION", number));
    if (present == 0) return Unsupported(std::string("KVM lacks the capability ") + name);
  }
  return kvm;
}

void Put(Mapping& memory, uint64_t address, uint64_t value) {
  std::memcpy(memory.data() + address, &value, sizeof(value));
}

Result<Mapping> BuildMemory() {
  constexpr uint64_t kPresentWritable = 0x3;
  constexpr uint64_t kLargePage = 0x80;
  auto memory = TRY(Mapping::Anonymous(kMemoryBytes));
  Put(memory, kPml4, kPageDirectoryPointers | kPresentWritable);
  Put(memory, kPageDirectoryPointers, kPageDirectory | kPresentWritable);
  Put(memory, kPageDirectory, kPresentWritable | kLargePage);
  std::memcpy(memory.data() + kCode, kvm_probe_guest,
              static_cast<size_t>(kvm_probe_guest_end - kvm_probe_guest));
  return memory;
}

Result<UniqueFd> CreateVm(const UniqueFd& kvm, Mapping& memory) {
  auto vm = TRY(CallForFd(kvm, KVM_CREATE_VM, "KVM_CREATE_VM"));
  // Intel's processors need these three pages, below 4 GiB and out of the memory's way.
  constexpr unsigned long kTss = 0xfffbd000;
  uint64_t identity_map = 0xfffbc000;
  TRY(Call(vm, KVM_SET_TSS_ADDR, "KVM_SET_TSS_ADDR", kTss));
  TRY(Call(vm, KVM_SET_IDENTITY_MAP_ADDR, "KVM_SET_IDENTITY_MAP_ADDR", &identity_map));
  TRY(Call(vm, KVM_CREATE_IRQCHIP, "KVM_CREATE_IRQCHIP", 0));
  kvm_userspace_memory_region region{};
  region.memory_size = memory.size();
  region.userspace_addr = reinterpret_cast<uint64_t>(memory.data());
  TRY(Call(vm, KVM_SET_USER_MEMORY_REGION, "KVM_SET_USER_MEMORY_REGION", &region));
  return vm;
}

// Gives the vCPU all that KVM can; true if BMI2 is among it.
Result<bool> SetCpuid(const UniqueFd& kvm, const UniqueFd& vcpu) {
  constexpr uint32_t kMostEntries = 256;
  std::vector<uint64_t> buffer(
      (sizeof(kvm_cpuid2) + kMostEntries * sizeof(kvm_cpuid_entry2)) / sizeof(uint64_t) + 1);
  auto* cpuid = reinterpret_cast<kvm_cpuid2*>(buffer.data());
  cpuid->nent = kMostEntries;
  TRY(Call(kvm, KVM_GET_SUPPORTED_CPUID, "KVM_GET_SUPPORTED_CPUID", cpuid));
  TRY(Call(vcpu, KVM_SET_CPUID2, "KVM_SET_CPUID2", cpuid));
  constexpr uint32_t kBmi2 = 1 << 8;  // CPUID leaf 7, subleaf 0, EBX
  for (uint32_t i = 0; i < cpuid->nent; ++i) {
    const kvm_cpuid_entry2& entry = cpuid->entries[i];
    if (entry.function == 7 && entry.index == 0) return (entry.ebx & kBmi2) != 0;
  }
  return false;
}

kvm_segment FlatSegment(uint16_t selector, uint8_t type) {
  kvm_segment segment{};
  segment.limit = 0xffffffff;
  segment.selector = selector;
  segment.type = type;
  segment.present = 1;
  segment.s = 1;
  segment.g = 1;
  return segment;
}

// Long mode with paging and SSE on, interrupts off and no IDT: an exception is a triple fault.
Result<void> SetRegisters(const UniqueFd& vcpu, bool has_bmi2) {
  kvm_sregs system{};
  TRY(Call(vcpu, KVM_GET_SREGS, "KVM_GET_SREGS", &system));
  constexpr uint8_t kCodeReadAccessed = 0xb;
  constexpr uint8_t kDataWriteAccessed = 0x3;
  constexpr uint8_t kBusyTss = 0xb;
  system.cs = FlatSegment(0x8, kCodeReadAccessed);
  system.cs.l = 1;
  system.ss = FlatSegment(0x10, kDataWriteAccessed);
  system.ds = system.es = system.fs = system.gs = system.ss;
  system.tr = FlatSegment(0x18, kBusyTss);
  system.tr.s = 0;
  system.cr0 = 0x80000033;  // PG, NE, ET, MP, PE
  system.cr3 = kPml4;
  system.cr4 = 0x620;   // OSXMMEXCPT, OSFXSR, PAE
  system.efer = 0x500;  // LMA, LME
  TRY(Call(vcpu, KVM_SET_SREGS, "KVM_SET_SREGS", &system));

  kvm_regs general{};
  general.rip = kCode;
  general.rflags = 0x2;
  general.rdi = has_bmi2 ? 1 : 0;
  TRY(Call(vcpu, KVM_SET_REGS, "KVM_SET_REGS", &general));
  return {};
}

// What the guest wrote to its port, or what it did instead.
Result<uint32_t> RunGuest(const UniqueFd& vcpu, const Mapping& state) {
  const auto* run = reinterpret_cast<const kvm_run*>(state.data());
  if (ioctl(vcpu.get(), KVM_RUN, 0) < 0) {
    if (errno == EINTR) {
      return Unsupported("the probe guest did not end in " + std::to_string(kTimeLimitSeconds) +
                         " s");
    }
    return Error::FromErrno("KVM_RUN");
  }
  switch (run->exit_reason) {
    case KVM_EXIT_IO: {
      if (run->io.port != kResultPort) break;
      uint32_t value = 0;
      std::memcpy(&value, state.data() + run->io.data_offset, sizeof(value));
      return value;
    }
    case KVM_EXIT_INTERNAL_ERROR:
      return Unsupported("KVM cannot run ordinary instructions here (internal error " +
                         std::to_string(run->internal.suberror) +
                         "): it emulates guests in software");
    case KVM_EXIT_SHUTDOWN:
      return Unsupported("ordinary instructions fault in a guest here");
  }
  return Unsupported("the probe guest ended with exit reason " + std::to_string(run->exit_reason));
}

Result<void> Probe() {
  const auto kvm = TRY(OpenKvm());
  auto memory = TRY(BuildMemory());
  const auto vm = TRY(CreateVm(kvm, memory));
  const auto vcpu = TRY(CallForFd(vm, KVM_CREATE_VCPU, "KVM_CREATE_VCPU"));
  const int state_bytes = TRY(Call(kvm, KVM_GET_VCPU_MMAP_SIZE, "KVM_GET_VCPU_MMAP_SIZE", 0));
  const auto state = TRY(Mapping::Shared(vcpu.get(), static_cast<size_t>(state_bytes)));
  const bool has_bmi2 = TRY(SetCpuid(kvm, vcpu));
  TRY(SetRegisters(vcpu, has_bmi2));
  const uint32_t result = TRY(RunGuest(vcpu, state));
  if (result != (has_bmi2 ? kResultWithBmi2 : kResult)) {
    return Unsupported("the probe guest computed " + std::to_string(result) + ": wrong");
  }
  return {};
}

// Makes a KVM_RUN that does not return fail with EINTR (no SA_RESTART); should the process hang
// in a call that no signal interrupts, nobody here can help.
void LimitTime() {
  struct sigaction action {};
  action.sa_handler = [](int) {};
  sigaction(SIGALRM, &action, nullptr);
  alarm(kTimeLimitSeconds);
}

}  // namespace
}  // namespace skiff

int main() {
  skiff::LimitTime();
  const auto usable = skiff::Probe();
  if (usable.ok()) return 0;
  std::fprintf(stderr, "kvm_probe: %s\n", usable.error().message().c_str());
  return 1;
}
