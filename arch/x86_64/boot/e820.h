#pragma once

#include <cstdint>
#include <vector>

#include "arch/x86_64/boot/platform.h"
#include "base/position.h"

namespace skiff::x86_64 {

// ACPI 6.4, 15 "System Address Map Interfaces": the values are the wire's.
enum class E820Type : uint32_t { kRam = 1, kReserved = 2 };

struct E820Entry {
  GuestRange range;
  E820Type type;
};

// The guest's memory map, sorted and disjoint. RAM below 1 MiB ends at the extended BIOS data
// area; from there to 1 MiB all is reserved (our ACPI tables lie there).
std::vector<E820Entry> MemoryMap(const Platform& platform);

}  // namespace skiff::x86_64
