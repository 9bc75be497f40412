#pragma once

#include <cstdint>

#include "arch/x86_64/boot/acpi/aml.h"
#include "base/position.h"

// Resource descriptors: ACPI 6.4, 6.4 "Resource Data Types for ACPI".
namespace skiff::x86_64::aml {

// 6.4.2.5 "I/O Port Descriptor", all 16 address bits decoded, at a fixed place.
Resource Ports(uint16_t first, uint8_t count);
// 6.4.2.1 "IRQ Descriptor": an ISA interrupt, edge-triggered and active high. `irq` is below 16.
Resource IsaIrq(uint8_t irq);
// 6.4.3.4 "32-Bit Fixed Memory Range Descriptor", writable. The range ends at or below 4 GiB.
Resource FixedMemory(const GuestRange& range);

// 6.4.3.5 "Address Space Resource Descriptors": what a host bridge hands on to its bus. No range is
// empty.
Resource BusNumbers(uint8_t first, uint8_t last);
Resource PortWindow(uint16_t first, uint16_t count);
Resource MemoryWindow32(const GuestRange& range);  // ends at or below 4 GiB
Resource MemoryWindow64(const GuestRange& range);

}  // namespace skiff::x86_64::aml
