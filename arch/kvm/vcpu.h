#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <variant>

#include "base/mapping.h"
#include "base/mutex.h"
#include "base/result.h"
#include "base/unique_fd.h"

struct kvm_run;

namespace skiff::kvm {

// Why a vCPU came back from the guest. Spans point into the vCPU's shared page and are good until
// its next Run(), which is also what hands a read's answer to the guest.

// `count` accesses of `width` bytes (1, 2 or 4), one after the other, to one port: more than one
// for string instructions. data.size() == width * count.
struct PortExit {
  uint16_t port;
  uint8_t width;
  uint32_t count;
  bool is_write;
  std::span<std::byte> data;
};
// data.size() is 1 to 8; odd sizes come from accesses that cross a page.
struct MmioExit {
  uint64_t address;
  bool is_write;
  std::span<std::byte> data;
};
// A kick, another signal, or an event that only made KVM look again. Nothing to answer.
struct InterruptedExit {};
// HLT; only without an interrupt controller in the kernel, so never in our machines.
struct HaltExit {};
// The processor shut down: on x86 a triple fault.
struct ShutdownExit {};
// KVM_SYSTEM_EVENT_…: power-off or reset by firmware call (PSCI, SBI), or a crash.
struct SystemEventExit {
  uint32_t type;
};

// The rest ends the machine: KVM cannot go on. Machine::DescribeFailure() says it in words.
struct InternalErrorExit {
  uint32_t suberror;                       // KVM_INTERNAL_ERROR_…
  std::span<const std::byte> instruction;  // bytes at the instruction pointer, if KVM gave them
};
struct FailEntryExit {
  uint64_t hardware_reason;
};
struct HostErrorExit {
  int os_error;  // of KVM_RUN
};
struct UnknownExit {
  uint32_t reason;  // KVM_EXIT_…
};

using Exit =
    std::variant<PortExit, MmioExit, InterruptedExit, HaltExit, ShutdownExit, SystemEventExit,
                 InternalErrorExit, FailEntryExit, HostErrorExit, UnknownExit>;

// One virtual CPU. One thread at a time runs it: it Attach()es, calls Run() in a loop, and asks
// for or sets registers between two runs. Kick() may come from any thread, at any time.
//
// Before a vCPU is destroyed, its thread has ended and nobody kicks it any more.
class Vcpu {
 public:
  // `vcpu_fd` is what KVM_CREATE_VCPU returned.
  static Result<std::unique_ptr<Vcpu>> Make(UniqueFd vcpu_fd, uint32_t index,
                                            size_t run_area_bytes);
  ~Vcpu();
  Vcpu(const Vcpu&) = delete;
  Vcpu& operator=(const Vcpu&) = delete;

  uint32_t index() const { return index_; }
  int fd() const { return fd_.get(); }

  // Makes the calling thread the one that kicks go to, until Detach(): kicks interrupt its blocking
  // system calls too. Installs the kick signal's handler (a no-op) and unblocks that signal here.
  void Attach() EXCLUDES(mutex_);
  void Detach() EXCLUDES(mutex_);

  // Runs the guest until something needs us. Never fails: errors are exits. Allocates nothing.
  Exit Run();

  // Makes the current Run() return soon, or the next one at once, as InterruptedExit; several
  // kicks may be answered by one return. What the caller wrote before is visible to the vCPU
  // thread after that return. Thread-safe; not for signal handlers.
  void Kick() EXCLUDES(mutex_);

 private:
  Vcpu(UniqueFd fd, Mapping run_area, uint32_t index);
  Exit OnRunError(int os_error);
  Exit OnExit();

  const UniqueFd fd_;
  const Mapping run_area_;
  kvm_run* const run_;  // in run_area_
  const uint32_t index_;

  Mutex mutex_;
  pid_t thread_ GUARDED_BY(mutex_) = 0;  // kernel thread id; 0 when none is attached
};

}  // namespace skiff::kvm
