#include "arch/x86_64/boot/e820.h"

#include <algorithm>

#include "arch/x86_64/boot/low_memory.h"

namespace skiff::x86_64 {

namespace {

// Both ends come from ranges or constants, start <= end.
GuestRange Between(GuestAddr start, GuestAddr end) {
  return GuestRange::Make(start, end.value() - start.value()).value();
}

}  // namespace

std::vector<E820Entry> MemoryMap(const Platform& platform) {
  const GuestAddr low_end = std::max(platform.low_ram.end(), kOneMiB);
  std::vector<E820Entry> map = {
      {Between(GuestAddr(0), kEndOfConventionalMemory), E820Type::kRam},
      {Between(kEndOfConventionalMemory, kOneMiB), E820Type::kReserved},
      {Between(kOneMiB, low_end), E820Type::kRam},
      // Linux ignores the MCFG table unless its window is reserved.
      {platform.ecam, E820Type::kReserved},
      {platform.kvm_pages, E820Type::kReserved},
      {platform.high_ram, E820Type::kRam},
  };
  std::erase_if(map, [](const E820Entry& entry) { return entry.range.empty(); });
  std::sort(map.begin(), map.end(), [](const E820Entry& a, const E820Entry& b) {
    return a.range.start() < b.range.start();
  });
  return map;
}

}  // namespace skiff::x86_64
