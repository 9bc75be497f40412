#include "disk/qcow2/maintenance.h"

#include <algorithm>
#include <array>

#include "disk/qcow2/open_mark.h"
#include "disk/qcow2/refcounts.h"

namespace skiff::qcow2 {
namespace {

constexpr size_t kPieces = 64;  // per host call

void SortByPlace(std::vector<MetadataWrite>& writes) {
  std::sort(writes.begin(), writes.end(),
            [](const MetadataWrite& a, const MetadataWrite& b) { return a.at < b.at; });
}

// Neighbours go in one call.
Result<void> WriteSorted(File& file, std::span<const MetadataWrite> writes) {
  while (!writes.empty()) {
    std::array<iovec, kPieces> pieces;
    size_t count = 0;
    FileOffset end = writes.front().at;
    while (count < std::min(writes.size(), kPieces) && writes[count].at == end) {
      const auto& bytes = writes[count].bytes;
      pieces[count++] = {const_cast<std::byte*>(bytes.data()), bytes.size()};
      end = end + bytes.size();
    }
    TRY(file.WriteAt(writes.front().at, std::span(pieces).first(count)));
    writes = writes.subspan(count);
  }
  return {};
}

Result<void> WriteAll(Core& core, std::vector<MetadataWrite>& writes) REQUIRES(core.mutex) {
  if (writes.empty()) return {};
  // What is in the file at open may be a killed writer's, and not durable.
  uint64_t barrier = 1;
  for (const MetadataWrite& write : writes) barrier = std::max(barrier, write.barrier);
  if (barrier > core.syncs_completed) TRY(SyncFile(core));
  SortByPlace(writes);
  return WithoutLock(core, [&] { return WriteSorted(*core.file, writes); });
}

// Writes what was taken from the tables, and tells them how that went.
Result<void> WriteTaken(Core& core, std::vector<MetadataWrite>& writes) REQUIRES(core.mutex) {
  Result<void> written = WriteAll(core, writes);
  core.l2_slices.EndWrite(written.ok());
  core.l1.EndWrite(written.ok());
  core.refcount_slices.EndWrite(written.ok());
  core.refcount_table.EndWrite(written.ok());
  return written;
}

// Entries freed up to now are in the file; plans made from now on do not know their clusters.
void MoveToUnlinked(Core& core, std::deque<Freed> freed) REQUIRES(core.mutex) {
  if (freed.empty()) return;
  for (Freed& one : freed) {
    one.barrier = core.NextSync();
    one.generation = core.generation;
    core.unlinked.push_back(std::move(one));
  }
  core.generation->next = std::make_shared<Generation>();
  core.generation = core.generation->next;
}

Result<void> FlushAsMaintainer(Core& core) REQUIRES(core.mutex) {
  TRY(WriteBack(core));
  if (core.file->written()) TRY(SyncFile(core));
  ReleaseFreed(core);
  return {};
}

// The end of the last cluster in use, but not below what the file had when it was opened.
Result<FileOffset> UsedEnd(Core& core) REQUIRES(core.mutex) {
  uint64_t end = core.geometry.ClustersFor(core.file->size());
  const uint64_t least = core.geometry.ClustersFor(core.initial_file_size);
  while (end > least && TRY(RefcountOf(core, end - 1)) == 0) --end;
  return core.OffsetOf(end);
}

Result<void> CloseAsMaintainer(Core& core) REQUIRES(core.mutex) {
  TRY(FlushAsMaintainer(core));
  for (const ClusterRun& run : core.reserve.TakeAll()) TRY(SetRefcounts(core, run, 0));
  TRY(FlushAsMaintainer(core));
  // Whether this is durable does not matter: at worst the next one to open looks for nothing.
  TRY(ClearOpenMark(*core.file, core.header));
  if (core.file->facts().fixed_size) return {};
  // Only now that no durable count is beyond it.
  const FileOffset end = TRY(UsedEnd(core));
  if (end.value() >= core.file->size() || end.value() < core.initial_file_size) return {};
  return WithoutLock(core, [&] { return core.file->Resize(end.value()); });
}

}  // namespace

void BecomeMaintainer(Core& core) {
  while (core.maintained) core.changed.Wait(core.mutex);
  core.maintained = true;
}

void EndMaintenance(Core& core) {
  core.maintained = false;
  core.changed.NotifyAll();
}

Result<void> SyncFile(Core& core) {
  const uint64_t number = ++core.syncs_started;
  core.file->ForgetWritten();
  Result<void> synced = WithoutLock(core, [&] { return core.file->Sync(); });
  if (!synced.ok()) {
    core.file->NoteWritten();
    return synced;
  }
  core.syncs_completed = std::max(core.syncs_completed, number);
  return {};
}

Result<void> WriteBack(Core& core) {
  std::deque<Freed> freed = std::exchange(core.freed, {});
  std::vector<MetadataWrite> writes;
  core.l2_slices.TakeDirty(writes);
  core.l1.TakeDirty(writes);
  core.refcount_slices.TakeDirty(writes);
  core.refcount_table.TakeDirty(writes);
  Result<void> written = WriteTaken(core, writes);
  if (written.ok()) {
    MoveToUnlinked(core, std::move(freed));
  } else {
    core.freed.insert(core.freed.begin(), freed.begin(), freed.end());
  }
  return written;
}

Result<void> WriteRefcounts(Core& core) {
  std::vector<MetadataWrite> writes;
  core.refcount_slices.TakeDirty(writes);
  core.refcount_table.TakeDirty(writes);
  return WriteTaken(core, writes);
}

void ReleaseFreed(Core& core) {
  while (!core.unlinked.empty()) {
    const Freed& oldest = core.unlinked.front();
    if (oldest.barrier > core.syncs_completed || !oldest.generation.expired()) return;
    const ClusterRun run = oldest.run;
    core.unlinked.pop_front();
    if (!LowerRefcounts(core, run).ok()) return;
  }
}

Result<void> Flush(Core& core) {
  if (core.read_only) return {};
  MutexLock lock(core.mutex);
  const uint64_t ours = core.flushes_started + 1;
  while (core.maintained) {
    core.changed.Wait(core.mutex);
    if (core.flushes_completed >= ours) return {};
  }
  core.maintained = true;
  const uint64_t number = ++core.flushes_started;
  Result<void> flushed = FlushAsMaintainer(core);
  if (flushed.ok()) core.flushes_completed = number;
  EndMaintenance(core);
  return flushed;
}

Result<void> Close(Core& core) {
  if (core.read_only) return {};
  MutexLock lock(core.mutex);
  BecomeMaintainer(core);
  Result<void> closed = CloseAsMaintainer(core);
  EndMaintenance(core);
  return closed;
}

}  // namespace skiff::qcow2
