#pragma once

#include "disk/qcow2/core.h"

namespace skiff::qcow2 {

// Writing metadata and making it durable. One thread at a time does so, the maintainer; README.md
// has the order and its proof. All of these give the mutex up while they wait.

void BecomeMaintainer(Core& core) REQUIRES(core.mutex);
void EndMaintenance(Core& core) REQUIRES(core.mutex);

// Covers what was written before the call; anybody's.
Result<void> SyncFile(Core& core) REQUIRES(core.mutex);

// The rest is the maintainer's.

// Writes all changes of tables to the file, after the sync that they wait for, if any.
Result<void> WriteBack(Core& core) REQUIRES(core.mutex);
// Only reference counts and the refcount table; they wait for nothing.
Result<void> WriteRefcounts(Core& core) REQUIRES(core.mutex);
// Lowers the counts of clusters that no durable entry and no plan refers to. What fails stays for
// the next time: it is a leak at worst.
void ReleaseFreed(Core& core) REQUIRES(core.mutex);

// A guest's flush: what completed before it is durable afterwards. Anybody's; flushes that come
// while another one works share the next.
Result<void> Flush(Core& core) EXCLUDES(core.mutex);
// Flushes, gives back what was reserved, and cuts the file to its end. No plan is left.
Result<void> Close(Core& core) EXCLUDES(core.mutex);

}  // namespace skiff::qcow2
