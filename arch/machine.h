#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "arch/kvm/vcpu.h"
#include "arch/loader/boot_config.h"
#include "base/guest_memory.h"
#include "base/result.h"
#include "devices/bus.h"
#include "devices/character_port.h"
#include "devices/guest_events.h"
#include "devices/virtio/device.h"

namespace skiff {

struct MachineConfig {
  uint64_t memory_bytes = 0;  // of guest RAM; a multiple of 1 MiB
  uint32_t cpus = 1;
};

// A computer of one CPU architecture under KVM: memory, interrupt controller, buses, platform
// devices, vCPUs. Each architecture's folder implements it; Bazel picks the folder. One thread
// composes it (Create, Add…, Load), then one thread per vCPU runs it.
//
// The destructor stops the devices; all vCPU threads must have ended before.
class Machine {
 public:
  // kUnsupported, naming the capability, when the host's KVM lacks what we need; else host errors
  // with what to do about them. `events` outlives the machine.
  static Result<std::unique_ptr<Machine>> Create(const MachineConfig& config, GuestEvents& events);
  virtual ~Machine() = default;

  // The devices, in the order the guest will find them. `port` outlives the machine.
  virtual Result<void> AddSerial(CharacterPort& port) = 0;
  virtual Result<void> AddRtc() = 0;
  virtual Result<void> AddResetControl() = 0;  // the ways a guest resets or powers off
  virtual Result<void> AddPanicDevice() = 0;   // pvpanic
  virtual Result<void> AddVirtio(std::unique_ptr<virtio::Device> device) = 0;

  // Puts kernel, initrd, command line and platform tables into memory and the vCPUs at the
  // kernel's entry. After the last Add… call. Errors name the file, both sizes where something
  // does not fit, and what to do.
  virtual Result<void> Load(const BootConfig& boot) = 0;

  virtual uint32_t vcpu_count() const = 0;
  virtual kvm::Vcpu& vcpu(uint32_t index) = 0;
  virtual Bus& ports() = 0;  // x86 port I/O; an empty bus elsewhere
  virtual Bus& mmio() = 0;
  virtual const GuestMemory& memory() const = 0;

  // True if the guest asked, before its last reset, for the kind of reset that our kernel line
  // makes it use after a panic only (x86: the BIOS warm-boot word). Call when all vCPUs stopped.
  virtual bool ResetFollowedPanic() const = 0;

  // True if vCPU `index` sleeps and no device interrupt can wake it (x86: halted with interrupts
  // off, or never started): when all vCPUs are so at once, the guest has stopped for good. From
  // the vCPU's thread, between two runs.
  virtual bool VcpuHalted(uint32_t index) = 0;

  // One line for the user on an exit that ends the machine (InternalErrorExit and those below it
  // in arch/kvm/vcpu.h): what KVM reported, where the vCPU was, what to try. From its thread.
  virtual std::string DescribeFailure(uint32_t index, const kvm::Exit& exit) = 0;
};

}  // namespace skiff
