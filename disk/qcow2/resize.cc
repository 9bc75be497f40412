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

// Of the backing file nothing shows up behind the old end.
Result<void> HideBacking(Core& core, uint64_t size) EXCLUDES(core.mutex) {
  if (core.backing == nullptr) return {};
  const uint64_t cluster = core.geometry.cluster_size();
  const uint64_t end = std::min(size, core.backing->limits().size);
  const DiskRange hidden = TRY(Between(AlignUp(core.disk_size, cluster), AlignUp(end, cluster)));
  return hidden.empty() ? Result<void>() : ClearRange(core, hidden, Clear::kZeroUnmap);
}

Result<void> CutOff(Core& core, uint64_t size) EXCLUDES(core.mutex) {
  const uint64_t cluster = core.geometry.cluster_size();
  const DiskRange range = TRY(Between(AlignUp(size, cluster), AlignUp(core.disk_size, cluster)));
  return range.empty() ? Result<void>() : ClearRange(core, range, Clear::kDiscard);
}

}  // namespace

Result<void> Resize(Core& core, uint64_t size) {
  TRY(Check(core, size));
  if (size > core.disk_size) {
    TRY(EnlargeL1(core, size));
    TRY(HideBacking(core, size));
  } else {
    TRY(CutOff(core, size));
  }
  return Exclusively(core, [&]() NO_THREAD_SAFETY_ANALYSIS {
    HeaderChange change = CurrentHeader(core);
    change.size = size;
    return SwitchHeader(core, change);
  });
}

}  // namespace skiff::qcow2
