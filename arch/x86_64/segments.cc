#include "arch/x86_64/segments.h"

#include <array>

#include "arch/kvm/kvm.h"
#include "arch/x86_64/layout.h"
#include "arch/x86_64/page_tables.h"
#include "base/endian.h"
#include "third_party/linux_kvm.h"

namespace skiff::x86_64 {

namespace {

// Intel SDM vol. 3A, 2.5 "Control Registers" and 2.2.1 "Extended Feature Enable Register".
constexpr uint64_t kCr0ProtectedMode = 1 << 0;
constexpr uint64_t kCr0ExtensionType = 1 << 4;  // always 1 on today's processors
constexpr uint64_t kCr0Paging = uint64_t{1} << 31;
constexpr uint64_t kCr4PhysicalAddressExtension = 1 << 5;
constexpr uint64_t kEferLongModeEnable = 1 << 8;
constexpr uint64_t kEferLongModeActive = 1 << 10;
constexpr uint64_t kRflagsReserved = 1 << 1;  // always 1; interrupts off

// Intel SDM vol. 3A, 3.4.5 "Segment Descriptors" and 3.5 "System Descriptor Types".
constexpr uint8_t kTypeCode = 0xB;     // execute, read, accessed
constexpr uint8_t kTypeData = 0x3;     // read, write, accessed
constexpr uint8_t kTypeBusyTss = 0xB;  // Intel refuses to enter a guest with any other

// Linux x86 boot protocol, "64-bit Boot Protocol": __BOOT_CS and __BOOT_DS. PVH leaves the
// selectors open.
constexpr uint16_t kCodeSelector = 0x10;
constexpr uint16_t kDataSelector = 0x18;
constexpr uint16_t kTssSelector = 0x20;
constexpr uint16_t kTssBytes = 104;  // of the 64-bit and of the 32-bit one

kvm_segment Flat(uint16_t selector, uint8_t type, bool is_long) {
  kvm_segment segment{};
  segment.limit = 0xFFFFFFFF;
  segment.selector = selector;
  segment.type = type;
  segment.present = 1;
  segment.s = 1;
  segment.l = is_long;
  segment.db = !is_long;
  segment.g = 1;
  return segment;
}

kvm_segment TaskState() {
  kvm_segment segment{};
  segment.base = kEntryTssAddress;
  segment.limit = kTssBytes - 1;
  segment.selector = kTssSelector;
  segment.type = kTypeBusyTss;
  segment.present = 1;
  return segment;
}

// Of a segment whose base and limit are below 2^32, as the tables in memory hold it.
uint64_t Descriptor(const kvm_segment& segment) {
  const uint64_t limit = segment.g != 0 ? segment.limit >> 12 : segment.limit;
  const uint64_t base = segment.base;
  return (limit & 0xFFFF) | (base & 0xFFFFFF) << 16 | uint64_t{segment.type} << 40 |
         uint64_t{segment.s} << 44 | uint64_t{segment.dpl} << 45 | uint64_t{segment.present} << 47 |
         (limit >> 16 & 0xF) << 48 | uint64_t{segment.l} << 53 | uint64_t{segment.db} << 54 |
         uint64_t{segment.g} << 55 | (base >> 24 & 0xFF) << 56;
}

// Two null entries, code, data, and a TSS that takes two entries in long mode.
using Gdt = std::array<Le64, 6>;

Result<void> WriteTables(const GuestMemory& memory, const kvm_sregs& sregs) {
  Gdt gdt{};
  gdt[kCodeSelector / 8] = Descriptor(sregs.cs);
  gdt[kDataSelector / 8] = Descriptor(sregs.ds);
  gdt[kTssSelector / 8] = Descriptor(sregs.tr);
  TRY(memory.Write(GuestAddr(kGdtAddress), gdt));
  TRY(memory.Write(GuestAddr(kEntryTssAddress), std::array<std::byte, kTssBytes>{}));
  return {};
}

// Flat segments for both modes; protected mode without paging.
void SetFlatProtectedMode(kvm_sregs& sregs, bool is_long) {
  const kvm_segment data = Flat(kDataSelector, kTypeData, /*is_long=*/false);
  sregs.cs = Flat(kCodeSelector, kTypeCode, is_long);
  sregs.ds = sregs.es = sregs.ss = data;
  sregs.fs = sregs.gs = data;
  sregs.tr = TaskState();
  sregs.gdt.base = kGdtAddress;
  sregs.gdt.limit = sizeof(Gdt) - 1;
  sregs.idt.base = 0;
  sregs.idt.limit = 0;  // any exception shuts the processor down until the kernel has its own table
  sregs.cr0 = kCr0ProtectedMode | kCr0ExtensionType;
  sregs.cr4 = 0;
  sregs.efer = 0;
}

Result<void> SetSystemRegisters(const kvm::Vcpu& vcpu, const GuestMemory& memory, EntryMode mode) {
  kvm_sregs sregs{};
  TRY(kvm::Call(vcpu.fd(), KVM_GET_SREGS, "KVM_GET_SREGS", &sregs));  // for the APIC's base
  const bool is_long = mode == EntryMode::kLong64;
  SetFlatProtectedMode(sregs, is_long);
  TRY(WriteTables(memory, sregs));
  if (is_long) {
    const GuestAddr root = TRY(WriteIdentityPageTables(memory));
    sregs.cr3 = root.value();
    sregs.cr4 = kCr4PhysicalAddressExtension;
    sregs.cr0 |= kCr0Paging;
    sregs.efer = kEferLongModeEnable | kEferLongModeActive;
  }
  TRY(kvm::Call(vcpu.fd(), KVM_SET_SREGS, "KVM_SET_SREGS", &sregs));
  return {};
}

Result<void> SetRegisters(const kvm::Vcpu& vcpu, const KernelEntry& entry) {
  kvm_regs regs{};
  regs.rip = entry.ip.value();
  regs.rflags = kRflagsReserved;
  (entry.mode == EntryMode::kLong64 ? regs.rsi : regs.rbx) = entry.boot_info.value();
  TRY(kvm::Call(vcpu.fd(), KVM_SET_REGS, "KVM_SET_REGS", &regs));

  kvm_fpu fpu{};
  fpu.fcw = 0x37F;     // all exceptions masked, 64-bit precision: as after FNINIT
  fpu.mxcsr = 0x1F80;  // the same for SSE
  TRY(kvm::Call(vcpu.fd(), KVM_SET_FPU, "KVM_SET_FPU", &fpu));
  return {};
}

}  // namespace

Result<void> EnterKernel(const kvm::Vcpu& vcpu, const GuestMemory& memory,
                         const KernelEntry& entry) {
  TRY(SetSystemRegisters(vcpu, memory, entry.mode));
  TRY(SetRegisters(vcpu, entry));
  return {};
}

}  // namespace skiff::x86_64
