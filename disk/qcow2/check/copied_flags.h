#pragma once

#include <vector>

#include "disk/qcow2/check/compare_counts.h"
#include "disk/qcow2/check/reference_walk.h"

namespace skiff::qcow2 {

// Checks that entries of the active disk have the COPIED flag exactly where the count of what they
// refer to is one, by the counts as they are in the file: `counts`, but for what differs, and
// behind the file's end `stored`. With `repair` the flags are put right, and durable when it
// returns.
Result<void> CheckCopiedFlags(File& file, const Header& header, const ReferenceWalk& walk,
                              const ReferenceCounts& counts, StoredCounts& stored,
                              const Comparison& comparison, bool repair, Findings& findings);

}  // namespace skiff::qcow2
