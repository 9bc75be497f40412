#pragma once

#include "arch/x86_64/boot/platform.h"
#include "base/guest_memory.h"
#include "base/result.h"

namespace skiff::x86_64::acpi {

// Writes RSDP, XSDT, FADT, MADT, MCFG and DSDT that describe `platform` below 1 MiB and returns
// where the RSDP is. kOutOfRange if so many CPUs do not fit.
Result<GuestAddr> WriteTables(const GuestMemory& memory, const Platform& platform);

}  // namespace skiff::x86_64::acpi
