#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "base/position.h"

namespace skiff {

// Where an initrd of `bytes` bytes goes: page-aligned, as high as it can be in the first of
// `rooms` that takes it. Rooms are RAM that nobody else needs, in order of preference. nullopt if
// none is large enough.
std::optional<GuestRange> PlaceInitrd(uint64_t bytes, std::span<const GuestRange> rooms);

}  // namespace skiff
