#include "arch/kvm/vcpu.h"

#include <pthread.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <csignal>

#include "third_party/linux_kvm.h"

// Why no kick is lost. kvm_run::immediate_exit is shared with the kernel, which reads it at the
// start of KVM_RUN, after it finished the previous exit; set, it makes KVM_RUN return EINTR at
// once.
//
// Kick() does, in this order: [1] set immediate_exit, [2] send the signal to the attached thread.
// Where is that thread when [1] happens?
//  * Before the kernel's look in KVM_RUN: the look sees 1, KVM_RUN returns EINTR.
//  * After the look, still inside KVM_RUN: the signal arrives after [1], hence after the look. The
//    signal is unblocked in this thread, and KVM tests for pending signals with interrupts off as
//    its last act before it enters the guest and whenever it would sleep for a halted guest; one
//    that comes later interrupts the guest by an IPI. So KVM_RUN returns EINTR.
//  * After KVM_RUN returned for another reason: immediate_exit stays 1 for the next KVM_RUN.
// The handler has nothing to do, so it cannot race with anything; a signal that arrives outside
// KVM_RUN is swallowed by it, and its immediate_exit still waits.
//
// Run() takes immediate_exit back only when KVM_RUN returned EINTR or EAGAIN, and tells its caller
// so. A kick that comes before the taking back is answered by this return: the exchange reads what
// [1] wrote and so orders the kicker's earlier writes before the caller's look at them. A kick that
// comes after it leaves immediate_exit set for the next Run(): the caller is interrupted once too
// often, never once too seldom.
//
// A kick that finds no thread attached sends no signal. Attach() publishes the thread under the
// same mutex, so the thread's first Run() comes after [1] and sees it.

namespace skiff::kvm {

namespace {

int KickSignal() { return SIGRTMIN; }

void InstallKickHandler() {
  struct sigaction action = {};
  action.sa_handler = [](int) {};
  sigemptyset(&action.sa_mask);
  action.sa_flags = 0;  // no SA_RESTART: blocking system calls of the thread return EINTR
  sigaction(KickSignal(), &action, nullptr);
}

void MaskKickSignal(int how) {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, KickSignal());
  pthread_sigmask(how, &signals, nullptr);
}

PortExit DecodePort(kvm_run& run) {
  const auto& io = run.io;
  auto* data = reinterpret_cast<std::byte*>(&run) + io.data_offset;
  return PortExit{.port = io.port,
                  .width = io.size,
                  .count = io.count,
                  .is_write = io.direction == KVM_EXIT_IO_OUT,
                  .data = {data, size_t{io.size} * io.count}};
}

MmioExit DecodeMmio(kvm_run& run) {
  auto& mmio = run.mmio;
  const size_t length = std::min<size_t>(mmio.len, sizeof(mmio.data));
  return MmioExit{.address = mmio.phys_addr,
                  .is_write = mmio.is_write != 0,
                  .data = std::as_writable_bytes(std::span(mmio.data)).first(length)};
}

InternalErrorExit DecodeInternalError(const kvm_run& run) {
  InternalErrorExit exit{.suberror = run.internal.suberror, .instruction = {}};
  const auto& failure = run.emulation_failure;
  // `flags` exists if the first of the `ndata` words is there, the bytes need two more.
  const bool has_bytes = failure.suberror == KVM_INTERNAL_ERROR_EMULATION && failure.ndata >= 3 &&
                         (failure.flags & KVM_INTERNAL_ERROR_EMULATION_FLAG_INSTRUCTION_BYTES) != 0;
  if (has_bytes)
    exit.instruction = std::as_bytes(std::span(failure.insn_bytes))
                           .first(std::min<size_t>(failure.insn_size, sizeof(failure.insn_bytes)));
  return exit;
}

}  // namespace

Result<std::unique_ptr<Vcpu>> Vcpu::Make(UniqueFd vcpu_fd, uint32_t index, size_t run_area_bytes) {
  Mapping run_area = TRY(Mapping::Shared(vcpu_fd.get(), run_area_bytes));
  return std::unique_ptr<Vcpu>(new Vcpu(std::move(vcpu_fd), std::move(run_area), index));
}

Vcpu::Vcpu(UniqueFd fd, Mapping run_area, uint32_t index)
    : fd_(std::move(fd)),
      run_area_(std::move(run_area)),
      run_(reinterpret_cast<kvm_run*>(run_area_.data())),
      index_(index) {}

Vcpu::~Vcpu() = default;

void Vcpu::Attach() {
  InstallKickHandler();
  MaskKickSignal(SIG_UNBLOCK);
  MutexLock lock(mutex_);
  thread_ = gettid();
}

void Vcpu::Detach() {
  {
    MutexLock lock(mutex_);
    thread_ = 0;
  }
  MaskKickSignal(SIG_BLOCK);
}

void Vcpu::Kick() {
  MutexLock lock(mutex_);  // the thread cannot detach and end before its signal is sent
  std::atomic_ref(run_->immediate_exit).store(1);
  if (thread_ != 0) syscall(SYS_tgkill, getpid(), thread_, KickSignal());
}

Exit Vcpu::Run() {
  if (ioctl(fd_.get(), KVM_RUN, 0) < 0) return OnRunError(errno);
  return OnExit();
}

Exit Vcpu::OnRunError(int os_error) {
  // EAGAIN: a vCPU that had waited for its start-up message may have got it.
  if (os_error != EINTR && os_error != EAGAIN) return HostErrorExit{os_error};
  std::atomic_ref(run_->immediate_exit).exchange(0);
  return InterruptedExit{};
}

Exit Vcpu::OnExit() {
  switch (run_->exit_reason) {
    case KVM_EXIT_IO:
      return DecodePort(*run_);
    case KVM_EXIT_MMIO:
      return DecodeMmio(*run_);
    case KVM_EXIT_IRQ_WINDOW_OPEN:
    case KVM_EXIT_INTR:
      return InterruptedExit{};
    case KVM_EXIT_HLT:
      return HaltExit{};
    case KVM_EXIT_SHUTDOWN:
      return ShutdownExit{};
    case KVM_EXIT_SYSTEM_EVENT:
      return SystemEventExit{run_->system_event.type};
    case KVM_EXIT_INTERNAL_ERROR:
      return DecodeInternalError(*run_);
    case KVM_EXIT_FAIL_ENTRY:
      return FailEntryExit{run_->fail_entry.hardware_entry_failure_reason};
    default:
      return UnknownExit{run_->exit_reason};
  }
}

}  // namespace skiff::kvm
