#include "arch/x86_64/layout.h"

#include <algorithm>
#include <string>

namespace skiff::x86_64 {

namespace {
// Of the architecture; a processor's own limit is lower and is checked against its CPUID.
constexpr uint64_t kAddressLimit = uint64_t{1} << 52;
}  // namespace

Result<std::vector<GuestRange>> RamRanges(uint64_t memory_bytes) {
  if (memory_bytes == 0 || !IsAligned(memory_bytes, kMiB))
    return Invalid(std::to_string(memory_bytes) +
                   " bytes of guest memory: it must be a positive multiple of 1 MiB");
  if (memory_bytes > kAddressLimit - (kHighRamStart - kLowRamLimit))
    return Invalid(std::to_string(memory_bytes / kGiB) +
                   " GiB of guest memory: more than any x86-64 processor can address");

  const uint64_t low = std::min(memory_bytes, kLowRamLimit);
  std::vector<GuestRange> ranges = {TRY(GuestRange::Make(GuestAddr(0), low))};
  if (memory_bytes > low)
    ranges.push_back(TRY(GuestRange::Make(GuestAddr(kHighRamStart), memory_bytes - low)));
  return ranges;
}

}  // namespace skiff::x86_64
