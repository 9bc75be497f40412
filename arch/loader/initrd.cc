#include "arch/loader/initrd.h"

#include "base/arith.h"

namespace skiff {

namespace {
constexpr uint64_t kPageBytes = 4 * kKiB;
}

std::optional<GuestRange> PlaceInitrd(uint64_t bytes, std::span<const GuestRange> rooms) {
  for (const GuestRange& room : rooms) {
    if (bytes > room.length()) continue;
    const GuestAddr start(AlignDown(room.end().value() - bytes, kPageBytes));
    if (start < room.start()) continue;
    auto placed = GuestRange::Make(start, bytes);
    if (placed.ok()) return *placed;
  }
  return std::nullopt;
}

}  // namespace skiff
