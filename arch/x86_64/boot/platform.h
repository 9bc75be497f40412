#pragma once

#include <array>
#include <cstdint>

#include "base/position.h"

namespace skiff::x86_64 {

// The machine as the boot code describes it to the guest (E820, ACPI): plain facts, filled in by
// the code that really builds the machine. CPU n has APIC id n.
struct Platform {
  uint32_t cpus = 1;

  GuestRange low_ram;   // starts at 0, ends below every range that follows but high_ram
  GuestRange high_ram;  // starts at 4 GiB; empty in a small machine

  GuestRange ecam;           // of PCI segment 0, bus 0 only: 1 MiB
  GuestRange mmio_window;    // for BARs below 4 GiB
  GuestRange mmio64_window;  // for 64-bit BARs; may be empty
  GuestRange kvm_pages;      // KVM's own (identity map, TSS): reserved; may be empty

  // Ports for PCI I/O BARs: [io_window_start, io_window_start + io_window_length). May be empty.
  uint16_t io_window_start = 0;
  uint16_t io_window_length = 0;

  uint32_t local_apic = 0xfee00000;
  uint32_t io_apic = 0xfec00000;

  // IOAPIC inputs of the PCI interrupt wires, level-triggered. The wire of a function is
  // intx_gsis[IntxWire(slot, pin)].
  std::array<uint8_t, 4> intx_gsis = {16, 17, 18, 19};

  bool has_serial = false;  // COM1: ports 0x3f8 to 0x3ff, GSI 4
  bool has_rtc = false;     // CMOS RTC: ports 0x70 and 0x71, GSI 8
  bool has_pvpanic = false;
};

// How the pins of the slots are wired: slot + pin, modulo 4 (PCI Local Bus 3.0, 2.2.6). `pin`
// counts from 0 for INTA#.
constexpr uint32_t IntxWire(uint32_t slot, uint32_t pin) { return (slot + pin) % 4; }

}  // namespace skiff::x86_64
