#include "disk/qcow2/resize.h"

#include <algorithm>

#include "base/arith.h"
#include "disk/qcow2/clear.h"
#include "disk/qcow2/exclusive.h"

namespace skiff::qcow2 {
namespace {

Result<DiskRange> Between(uint64_t start, uint64_t end) {
  if (start >= end) return DiskRange();
  return DiskRange::Make(DiskOffset(start), end - start);
}

Result<void> Check(Core& core, uint64_t size) EXCLUDES(core.mutex) {
  MutexLock lock(core.mutex);
  if (size % 512 != 0) return Invalid("The new size must be a multiple of 512");
  if (core.version < 3 && core.header.nb_snapshots != 0)
    return Unsupported("Can't resize a version 2 image which has snapshots");
  const uint64_t entries = DivideRoundingUp(size, core.geometry.bytes_per_l2());
  if (entries * sizeof(Be64) > kMaxL1Bytes)
    return OutOfRange("The new size is too large for the image's cluster size");
  return {};
}

// The L1 table gets the entries that the new size takes.
Result<void> EnlargeL1(Core& core, uint64_t size) EXCLUDES(core.mutex) {
  return Exclusively(core, [&]() NO_THREAD_SAFETY_ANALYSIS -> Result<void> {
    const uint64_t needed = DivideRoundingUp(size, core.geometry.bytes_per_l2());
    if (needed <= core.l1.size()) return {};
    std::vector<uint64_t> entries(core.l1.entries().begin(), core.l1.entries().end());
    entries.resize(needed);
    return ReplaceL1(core, entries, core.header.size);
  });
}

// Nothing shows up behind the old end: neither the backing file nor what was there before an
// earlier cut that was not completed.
Result<void> ClearBehind(Core& core, uint64_t end, uint64_t size, Clear how) EXCLUDES(core.mutex) {
  const uint64_t cluster = core.geometry.cluster_size();
  const DiskRange range = TRY(Between(AlignUp(end, cluster), AlignUp(size, cluster)));
  return range.empty() ? Result<void>() : ClearRange(core, range, how);
}

Result<void> SwitchSize(Core& core, uint64_t size) EXCLUDES(core.mutex) {
  return Exclusively(core, [&]() NO_THREAD_SAFETY_ANALYSIS {
    HeaderChange change = CurrentHeader(core);
    change.size = size;
    return SwitchHeader(core, change);
  });
}

}  // namespace

Result<void> Resize(Core& core, uint64_t size) {
  TRY(Check(core, size));
  if (size <= core.disk_size) {
    TRY(SwitchSize(core, size));
    return ClearBehind(core, size, core.disk_size, Clear::kDiscard);
  }
  TRY(EnlargeL1(core, size));
  const bool backed = core.backing != nullptr && core.backing->limits().size > core.disk_size;
  TRY(ClearBehind(core, core.disk_size, size, backed ? Clear::kZeroUnmap : Clear::kDiscard));
  return SwitchSize(core, size);
}

}  // namespace skiff::qcow2
