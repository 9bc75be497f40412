#include "disk/qcow2/read_plan.h"

#include <algorithm>

#include "base/overloaded.h"

namespace skiff::qcow2 {
namespace {

// Bytes of the disk that one answer describes.
struct Extent {
  Entry entry;
  Content content = Content::kUnallocated;
  uint64_t length = 0;  // of the range, from its start
};

// From `range`'s start on: subclusters of its cluster with the same content.
Extent FirstExtent(const Core& core, const Entry& entry, DiskRange range) {
  const Geometry& geometry = core.geometry;
  const uint64_t start = geometry.InCluster(range.start());
  auto subcluster = static_cast<uint32_t>(start >> geometry.subcluster_bits());
  Extent extent{entry, entry.content(subcluster), 0};
  while (++subcluster < geometry.subclusters() && entry.content(subcluster) == extent.content) {
  }
  const uint64_t end = uint64_t{subcluster} << geometry.subcluster_bits();
  extent.length = std::min(end - start, range.length());
  return extent;
}

// A stretch without an L2 table.
Extent WithoutTable(const Core& core, DiskRange range) {
  const uint64_t per_l2 = core.geometry.bytes_per_l2();
  const uint64_t left = per_l2 - (range.start().value() & (per_l2 - 1));
  return {Entry(), Content::kUnallocated, std::min(left, range.length())};
}

// nullopt: the slice is not in memory; `wanted` is where it is.
Result<std::optional<Extent>> Look(Core& core, DiskRange range, FileOffset& wanted)
    REQUIRES(core.mutex) {
  const uint64_t l1_index = core.geometry.L1Index(range.start());
  const FileOffset table =
      l1_index < core.l1.size() ? TRY(L2TableOf(core, core.l1[l1_index])) : FileOffset();
  if (table.value() == 0) return std::optional(WithoutTable(core, range));
  const uint64_t index = core.geometry.L2Index(range.start());
  wanted = SliceFor(core, table, index);
  Slice* const slice = core.l2_slices.Find(wanted);
  if (slice == nullptr) return std::optional<Extent>();
  return std::optional(FirstExtent(core, TRY(EntryAt(core, *slice, index)), range));
}

// Adds the step; false if the plan has no room for it.
bool Append(ReadPlan& plan, const ReadStep& step) {
  if (!plan.steps.empty() && Join(plan.steps.back(), step)) return true;
  if (plan.steps.full()) return false;
  plan.steps.push_back(step);
  return true;
}

// As much as is in memory. Covers nothing if the first slice is not.
Result<ReadPlan> PlanFromMemory(Core& core, DiskRange range, FileOffset& wanted)
    REQUIRES(core.mutex) {
  ReadPlan plan;
  while (!range.empty()) {
    const std::optional<Extent> extent = TRY(Look(core, range, wanted));
    if (!extent) break;
    const DiskRange part = range.Prefix(extent->length);
    if (!Append(plan, StepFor(core, extent->entry, extent->content, part))) break;
    plan.covers += part.length();
    range = range.Suffix(part.length());
  }
  if (plan.covers != 0) plan.lease = core.Lease();
  return plan;
}

// Entries that cannot be are told to all, unless nothing may be written.
Error Broken(Core& core, const Error& error) REQUIRES(core.mutex) {
  return error.code() == ErrorCode::kCorrupt ? MarkCorrupt(core, error.message()) : error;
}

BlockStatus StatusFrom(const Core& core, const Extent& extent, DiskRange range) {
  BlockStatus status{BlockState::kBelow, extent.length, std::nullopt};
  if (extent.content == Content::kZero) status.state = BlockState::kZero;
  if (extent.content == Content::kData) {
    status.state = BlockState::kData;
    if (extent.entry.has_host())
      status.file_offset = extent.entry.host() + core.geometry.InCluster(range.start());
  }
  return status;
}

// Whether two stretches that follow each other are one to the asker.
bool Continues(const BlockStatus& status, const BlockStatus& next) {
  if (status.state != next.state) return false;
  if (!status.file_offset || !next.file_offset) return !status.file_offset && !next.file_offset;
  return *status.file_offset + status.length == *next.file_offset;
}

}  // namespace

bool Join(ReadStep& last, const ReadStep& next) {
  if (last.index() != next.index()) return false;
  return std::visit(
      Overloaded{
          [&](ReadFile& l) { return l.source.Append(std::get<ReadFile>(next).source); },
          [&](ReadBelow& l) { return l.range.Append(std::get<ReadBelow>(next).range); },
          [&](ReadZeroes& l) { return l.length += std::get<ReadZeroes>(next).length, true; },
          [](ReadEncoded& /*l*/) { return false; },
      },
      last);
}

ReadStep StepFor(const Core& core, const Entry& entry, Content content, DiskRange range) {
  if (content == Content::kZero) return ReadZeroes{range.length()};
  if (content == Content::kUnallocated) {
    if (core.HasBacking(range.start().value())) return ReadBelow{range};
    return ReadZeroes{range.length()};
  }
  if (entry.compressed())
    return ReadEncoded{entry.compressed_source(), core.geometry.InCluster(range.start()),
                       range.length()};
  auto source =
      FileRange::Make(entry.host() + core.geometry.InCluster(range.start()), range.length());
  return ReadFile{source.ok() ? *source : FileRange()};  // an entry's 56 bits cannot wrap
}

Result<ReadPlan> PlanRead(Core& core, DiskRange range) {
  MutexLock lock(core.mutex);
  for (;;) {
    FileOffset wanted;
    Result<ReadPlan> plan = PlanFromMemory(core, range, wanted);
    if (!plan.ok()) return Broken(core, plan.error());
    if (plan->covers != 0) return plan;
    TRY(FindOrFetch(core, core.l2_slices, wanted));
  }
}

std::optional<ReadPlan> TryPlanRead(Core& core, DiskRange range) {
  MutexLock lock(core.mutex);
  FileOffset wanted;
  Result<ReadPlan> plan = PlanFromMemory(core, range, wanted);
  if (!plan.ok() || plan->covers == 0) return std::nullopt;
  return std::move(plan).value();
}

Result<BlockStatus> StatusOf(Core& core, DiskRange range) {
  MutexLock lock(core.mutex);
  std::optional<BlockStatus> status;
  while (!range.empty()) {
    FileOffset wanted;
    const Result<std::optional<Extent>> extent = Look(core, range, wanted);
    if (!extent.ok()) return Broken(core, extent.error());
    if (!*extent) {
      TRY(FindOrFetch(core, core.l2_slices, wanted));
      continue;
    }
    const BlockStatus next = StatusFrom(core, **extent, range);
    if (status && !Continues(*status, next)) break;
    if (status) {
      status->length += next.length;
    } else {
      status = next;
    }
    range = range.Suffix(next.length);
  }
  return status.value_or(BlockStatus{BlockState::kBelow, 0, std::nullopt});
}

}  // namespace skiff::qcow2
