#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "disk/qcow2/header.h"

namespace skiff::qcow2 {

// Reads the extensions between the header and `backing_name_at` (0: no name; then to the cluster's
// end), which is what `start` has of the first cluster, into `header`. kCorrupt if one is longer
// than that.
Result<void> ParseExtensions(std::span<const std::byte> start, uint64_t backing_name_at,
                             Header& header);

// kUnsupported if bits are set that change the format in ways unknown here; they are named as the
// image's feature name table has them.
Result<void> CheckFeatures(const Header& header);

// Backing format first, then the others in their order, and the end mark.
std::vector<std::byte> EncodeExtensions(const Header& header);

}  // namespace skiff::qcow2
