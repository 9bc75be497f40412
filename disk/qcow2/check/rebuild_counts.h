#pragma once

#include "disk/qcow2/check/reference_counts.h"
#include "disk/qcow2/check/stored_counts.h"

namespace skiff::qcow2 {

// Makes a refcount table and blocks anew from `counts`, which has all references but those of the
// refcount structure, and lets the header point to them. The old ones are not written to: until
// the header's sector changes, the image is what it was. `counts` and `header` have the new
// structure afterwards, the old one is free.
Result<void> RebuildCounts(File& file, Header& header, const StoredCounts& old,
                           ReferenceCounts& counts);

}  // namespace skiff::qcow2
