#pragma once

#include "base/guest_memory.h"
#include "base/position.h"
#include "base/result.h"

namespace skiff::x86_64 {

// Writes four-level page tables at [kPageTablesAddress, kPageTablesEnd) that map the first 4 GiB
// one to one with 2 MiB pages, writable and executable. Returns CR3.
Result<GuestAddr> WriteIdentityPageTables(const GuestMemory& memory);

}  // namespace skiff::x86_64
