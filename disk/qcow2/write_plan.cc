#include "disk/qcow2/write_plan.h"

#include <algorithm>

#include "disk/qcow2/allocate.h"
#include "disk/qcow2/cluster_write.h"
#include "disk/qcow2/l2_tables.h"
#include "disk/qcow2/maintenance.h"

namespace skiff::qcow2 {
namespace {

// The first piece of `range` up to the end of its cluster.
DiskRange InOneCluster(const Core& core, DiskRange range) {
  return range.Prefix(core.geometry.cluster_size() - core.geometry.InCluster(range.start()));
}

uint64_t GuestCluster(const Core& core, DiskOffset offset) {
  return offset.value() >> core.geometry.cluster_bits();
}

bool IsPending(const Core& core, uint64_t cluster) REQUIRES(core.mutex) {
  return std::any_of(core.pending.begin(), core.pending.end(), [&](const PendingChange& change) {
    return change.first <= cluster && cluster < change.end;
  });
}

bool IsOurs(const Entry& entry) { return entry.has_host() && entry.copied(); }

// All that `part` touches of its cluster is data in a cluster of our own.
bool InPlace(const Core& core, const Entry& entry, DiskRange part) {
  if (!IsOurs(entry)) return false;
  const uint32_t bits = core.geometry.subcluster_bits();
  const uint64_t start = core.geometry.InCluster(part.start());
  const uint32_t mask = SubclusterMask(static_cast<uint32_t>(start >> bits),
                                       static_cast<uint32_t>((start + part.length() - 1) >> bits));
  return (entry.allocated() & mask) == mask;
}

// A data cluster that was never handed out, or that holds metadata, is no place for data.
bool IsSane(const Core& core, const Entry& entry) REQUIRES(core.mutex) {
  return entry.host() < core.never_written &&
         !core.metadata_clusters.contains(core.ClusterOf(entry.host()));
}

Error Insane() { return Corrupt("an L2 entry names a place that cannot hold data"); }

bool AppendPayload(WritePlan& plan, FileRange piece) {
  if (!plan.payload.empty() && plan.payload.back().Append(piece)) return true;
  if (plan.payload.full()) return false;
  plan.payload.push_back(piece);
  return true;
}

// As many clusters of `part` as are in place; covers nothing if the first is not.
Result<WritePlan> PlanInPlace(Core& core, const Slice& slice, DiskRange part) REQUIRES(core.mutex) {
  WritePlan plan;
  while (!part.empty()) {
    const DiskRange piece = InOneCluster(core, part);
    const Entry entry = TRY(EntryAt(core, slice, core.geometry.L2Index(piece.start())));
    if (!InPlace(core, entry, piece)) break;
    if (IsPending(core, GuestCluster(core, piece.start()))) break;
    if (!IsSane(core, entry)) return Insane();
    auto target =
        FileRange::Make(entry.host() + core.geometry.InCluster(piece.start()), piece.length());
    if (!target.ok() || !AppendPayload(plan, *target)) break;
    plan.covers += piece.length();
    part = part.Suffix(piece.length());
  }
  if (plan.covers != 0) plan.lease = core.Lease();
  return plan;
}

// New or changed clusters of [touched), at `run`. Links them, or gives them back.
class AllocationLink final : public PendingLink {
 public:
  // `own`: the clusters come from the reserve; else they are linked already and only their
  // subclusters change.
  AllocationLink(Core& core, DiskRange touched, Allocation at, bool own)
      : core_(core), touched_(touched), at_(at), own_(own) {}

  ~AllocationLink() override {
    MutexLock lock(core_.mutex);
    const uint64_t linked = linked_;
    if (own_) core_.reserve.Add({at_.run.first + linked, at_.run.count - linked});
    EndPending(core_, GuestCluster(core_, touched_.start()));
  }

  Result<void> Commit() override {
    MutexLock lock(core_.mutex);
    DiskRange left = touched_;
    while (!left.empty()) {
      const DiskRange part = InOneCluster(core_, left);
      if (!TRY(LinkOne(part))) continue;
      ++linked_;
      left = left.Suffix(part.length());
    }
    return BoundDirty(core_);
  }

 private:
  // False if the mutex was given up.
  Result<bool> LinkOne(DiskRange part) REQUIRES(core_.mutex) {
    TRY(CheckWritable(core_));
    const std::optional<FileOffset> at = TRY(WritableL2Slice(core_, part.start()));
    if (!at) return false;
    Slice* const slice = TRY(FindOrFetch(core_, core_.l2_slices, *at));
    if (slice == nullptr) return false;
    const uint64_t index = core_.geometry.L2Index(part.start());
    const Entry old = TRY(EntryAt(core_, *slice, index));
    const ClusterWrite write{
        DiskOffset(part.start().value() - core_.geometry.InCluster(part.start())), part,
        core_.OffsetOf(at_.run.first + linked_), at_.fresh};
    const ClusterChange change = Compose(core_, old, write, nullptr);
    SetEntry(core_, *slice, index, change.entry, change.ordered ? core_.NextSync() : 0);
    FreeReplaced(core_, old, change.entry);
    return true;
  }

  Core& core_;
  const DiskRange touched_;
  const Allocation at_;
  const bool own_;
  uint64_t linked_ = 0;  // clusters
};

// The plan for `touched` at `at`; its clusters are pending from now on.
WritePlan PlanAllocated(Core& core, const Slice& slice, DiskRange touched, const Allocation& at,
                        bool own) REQUIRES(core.mutex) {
  WritePlan plan;
  plan.covers = touched.length();
  plan.lease = core.Lease();
  const FileOffset start = core.OffsetOf(at.run.first) + core.geometry.InCluster(touched.start());
  auto payload = FileRange::Make(start, touched.length());
  if (payload.ok()) plan.payload.push_back(*payload);
  for (DiskRange left = touched; !left.empty();) {
    const DiskRange part = InOneCluster(core, left);
    const uint64_t in_cluster = core.geometry.InCluster(part.start());
    const uint64_t n = GuestCluster(core, part.start()) - GuestCluster(core, touched.start());
    const ClusterWrite write{DiskOffset(part.start().value() - in_cluster), part,
                             core.OffsetOf(at.run.first + n), at.fresh};
    // Whole clusters need nothing copied.
    const auto old = EntryAt(core, slice, core.geometry.L2Index(part.start()));
    if (old.ok() && part.length() != core.geometry.cluster_size())
      Compose(core, *old, write, &plan.fills);
    left = left.Suffix(part.length());
  }
  const uint64_t first = GuestCluster(core, touched.start());
  core.pending.push_back({first, first + at.run.count});
  plan.link = std::make_unique<AllocationLink>(core, touched, at, own);
  return plan;
}

// How many clusters from the start of `part` need a new host cluster.
Result<uint64_t> ClustersToAllocate(Core& core, const Slice& slice, DiskRange part)
    REQUIRES(core.mutex) {
  uint64_t count = 0;
  while (!part.empty()) {
    const Entry entry = TRY(EntryAt(core, slice, core.geometry.L2Index(part.start())));
    if (IsOurs(entry) || IsPending(core, GuestCluster(core, part.start()))) break;
    part = part.Suffix(InOneCluster(core, part).length());
    ++count;
  }
  return count;
}

// nullopt: the mutex was given up.
Result<std::optional<WritePlan>> PlanNew(Core& core, const Slice& slice, DiskRange part)
    REQUIRES(core.mutex) {
  const uint64_t wanted = TRY(ClustersToAllocate(core, slice, part));
  const std::optional<Allocation> at = TRY(Allocate(core, wanted));
  if (!at) return std::optional<WritePlan>();
  const uint64_t end = core.geometry.InCluster(part.start()) + part.length();
  const uint64_t room = at->run.count << core.geometry.cluster_bits();
  const uint64_t covered = std::min(end, room) - core.geometry.InCluster(part.start());
  return std::optional(PlanAllocated(core, slice, part.Prefix(covered), *at, /*own=*/true));
}

// The slice is in memory and may be changed, and nothing is pending on the first cluster.
Result<std::optional<WritePlan>> PlanWith(Core& core, const Slice& slice, DiskRange part)
    REQUIRES(core.mutex) {
  WritePlan in_place = TRY(PlanInPlace(core, slice, part));
  if (in_place.covers != 0) return std::optional(std::move(in_place));
  const Entry entry = TRY(EntryAt(core, slice, core.geometry.L2Index(part.start())));
  if (!IsOurs(entry)) return PlanNew(core, slice, part);
  if (!IsSane(core, entry)) return Insane();
  const Allocation here{{core.ClusterOf(entry.host()), 1}, /*fresh=*/false};
  return std::optional(PlanAllocated(core, slice, InOneCluster(core, part), here, /*own=*/false));
}

Error Told(Core& core, const Error& error) REQUIRES(core.mutex) {
  const bool news = error.code() == ErrorCode::kCorrupt && !core.corrupt;
  return news ? MarkCorrupt(core, error.message()) : error;
}

}  // namespace

Result<void> CheckWritable(const Core& core) {
  if (core.read_only) return ReadOnly("the image is open read-only");
  if (core.corrupt) return Corrupt("the image was found corrupt and cannot be changed");
  return {};
}

void FreeReplaced(Core& core, const Entry& old, const Entry& replacement) {
  if (old.compressed()) {
    const FileRange source = old.compressed_source();
    const uint64_t first = core.ClusterOf(source.start());
    const uint64_t last = core.ClusterOf(FileOffset(source.end().value() - 1));
    core.freed.push_back({{first, last - first + 1}, 0, {}});
  }
  const bool kept = replacement.has_host() && replacement.host() == old.host();
  if (old.has_host() && !kept) core.freed.push_back({{core.ClusterOf(old.host()), 1}, 0, {}});
}

Result<void> BoundDirty(Core& core) {
  if (core.l2_slices.dirty_bytes() <= core.most_dirty) return {};
  BecomeMaintainer(core);
  Result<void> written = WriteBack(core);
  EndMaintenance(core);
  return written;
}

Result<WritePlan> PlanWrite(Core& core, DiskRange range) {
  MutexLock lock(core.mutex);
  for (;;) {
    TRY(CheckWritable(core));
    const uint64_t first = GuestCluster(core, range.start());
    if (AwaitPending(core, first, first + 1)) continue;
    const std::optional<FileOffset> at = TRY(WritableL2Slice(core, range.start()));
    if (!at) continue;
    Slice* const slice = TRY(FindOrFetch(core, core.l2_slices, *at));
    if (slice == nullptr) continue;
    Result<std::optional<WritePlan>> plan = PlanWith(core, *slice, InOneSlice(core, range));
    if (!plan.ok()) return Told(core, plan.error());
    if (*plan) return std::move(**plan);
  }
}

std::optional<WritePlan> TryPlanWrite(Core& core, DiskRange range) {
  MutexLock lock(core.mutex);
  if (!CheckWritable(core).ok()) return std::nullopt;
  const uint64_t l1_index = core.geometry.L1Index(range.start());
  if (l1_index >= core.l1.size() || (core.l1[l1_index] & kCopied) == 0) return std::nullopt;
  const Result<FileOffset> table = L2TableOf(core, core.l1[l1_index]);
  if (!table.ok() || table->value() == 0) return std::nullopt;
  const uint64_t index = core.geometry.L2Index(range.start());
  Slice* const slice = core.l2_slices.Find(SliceFor(core, *table, index));
  if (slice == nullptr) return std::nullopt;
  Result<WritePlan> plan = PlanInPlace(core, *slice, InOneSlice(core, range));
  if (!plan.ok() || plan->covers == 0) return std::nullopt;
  return std::move(plan).value();
}

}  // namespace skiff::qcow2
