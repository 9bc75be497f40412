#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <set>
#include <string>
#include <unordered_set>
#include <vector>

#include "base/mutex.h"
#include "disk/image.h"
#include "disk/qcow2/entry.h"
#include "disk/qcow2/generation.h"
#include "disk/qcow2/header.h"
#include "disk/qcow2/reserve.h"
#include "disk/qcow2/table_cache.h"
#include "disk/qcow2/top_table.h"
#include "disk/qcow2/tracked_file.h"

namespace skiff::qcow2 {

struct Options {
  bool read_only = false;
  std::string snapshot;  // id or name: the disk as it was then; only with read_only. Empty: now
  uint64_t most_reserved = 64 * kMiB;  // bytes of clusters reserved at once; a crash may leak them
  uint64_t l2_cache_size = 32 * kMiB;  // bytes; taken only as used
  uint64_t refcount_cache_size = 4 * kMiB;  // bytes; taken only as used
};

// Host clusters that an entry in memory no longer refers to.
struct Freed {
  ClusterRun run;
  uint64_t barrier = 0;                  // the sync that makes the entry's change durable
  std::weak_ptr<Generation> generation;  // plans of this one and before may still use them
};

// Guest clusters [first, end) whose entries a write, or a change of their tables, is about to set.
struct PendingChange {
  uint64_t first;
  uint64_t end;
};

// What is known of an open image, and the one mutex over all that changes. The operations are
// functions of other files (see README.md); those that REQUIRE the mutex and do I/O give it up
// meanwhile, and say so. No guest data, table or sync is ever waited for with the mutex held.
struct Core {
  Core(std::unique_ptr<File> host_file, std::unique_ptr<Image> backing_image, const Header& parsed,
       const Options& options);

  const std::unique_ptr<TrackedFile> file;
  const std::unique_ptr<Image> backing;  // null: none
  const Geometry geometry;
  const uint32_t version;
  const uint64_t disk_size;  // bytes; a multiple of 512
  const uint64_t initial_file_size;
  const bool read_only;
  const uint8_t compression_type;

  Mutex mutex;
  // A table was loaded, a pending change ended, the maintenance role was given up.
  CondVar changed;

  Header header GUARDED_BY(mutex);
  TopTable l1 GUARDED_BY(mutex);
  TopTable refcount_table GUARDED_BY(mutex);
  TableCache l2_slices GUARDED_BY(mutex);
  TableCache refcount_slices GUARDED_BY(mutex);

  // One thread at a time writes metadata, changes reference counts and waits for syncs of them.
  bool maintained GUARDED_BY(mutex) = false;
  uint64_t syncs_started GUARDED_BY(mutex) = 0;
  uint64_t syncs_completed GUARDED_BY(mutex) = 0;  // the latest started one that succeeded
  uint64_t flushes_started GUARDED_BY(mutex) = 0;
  uint64_t flushes_completed GUARDED_BY(mutex) = 0;

  Reserve reserve GUARDED_BY(mutex);
  bool open_marked GUARDED_BY(mutex) = false;    // or tried to
  const uint64_t most_dirty;                     // bytes of L2 slices; then they are written back
  const uint64_t largest_batch;                  // clusters to reserve at once
  uint64_t next_batch GUARDED_BY(mutex);         // the next time
  uint64_t first_free GUARDED_BY(mutex) = 0;     // no free cluster is below
  FileOffset never_written GUARDED_BY(mutex);    // above this, the file has never held anything
  std::deque<Freed> freed GUARDED_BY(mutex);     // the entry's change is not in the file yet
  std::deque<Freed> unlinked GUARDED_BY(mutex);  // it is, but perhaps not durable
  std::shared_ptr<Generation> generation GUARDED_BY(mutex);

  std::vector<PendingChange> pending GUARDED_BY(mutex);
  std::set<uint64_t> making_l2 GUARDED_BY(mutex);  // L1 indices whose L2 table is being made
  // Clusters of the header, the two top tables, refcount blocks and active L2 tables: never the
  // target of data. Empty if read-only.
  std::unordered_set<uint64_t> metadata_clusters GUARDED_BY(mutex);
  bool corrupt GUARDED_BY(mutex) = false;  // found while open: all changes are refused

  uint64_t ClusterOf(FileOffset at) const { return at.value() >> geometry.cluster_bits(); }
  FileOffset OffsetOf(uint64_t cluster) const {
    return FileOffset(cluster << geometry.cluster_bits());
  }
  FileRange RangeOf(ClusterRun run) const;
  // The first sync that starts from now on.
  uint64_t NextSync() const REQUIRES(mutex) { return syncs_started + 1; }
  std::shared_ptr<const void> Lease() const REQUIRES(mutex) { return generation; }
  // Whether what is not allocated at this place of the disk is the backing file's; else zeroes.
  bool HasBacking(uint64_t disk_offset) const {
    return backing != nullptr && disk_offset < backing->limits().size;
  }
};

// The result of `call`, which is made without the mutex.
template <typename Call>
auto WithoutLock(Core& core, Call call) REQUIRES(core.mutex) {
  core.mutex.Unlock();
  auto result = call();
  core.mutex.Lock();
  return result;
}

// Finds a slice, or reads it: then the mutex was given up and the answer is null, so that the
// caller starts again with what it knew of the tables.
Result<Slice*> FindOrFetch(Core& core, TableCache& cache, FileOffset at) REQUIRES(core.mutex);

// Where the L2 table of an L1 entry is. kCorrupt if it can't be one; 0: there is none.
Result<FileOffset> L2TableOf(Core& core, uint64_t l1_entry);

// An L2 entry of a slice of the table.
Result<Entry> EntryAt(const Core& core, const Slice& slice, uint64_t l2_index);
void SetEntry(Core& core, Slice& slice, uint64_t l2_index, const Entry& entry, uint64_t barrier)
    REQUIRES(core.mutex);
FileOffset SliceFor(const Core& core, FileOffset l2_table, uint64_t l2_index) REQUIRES(core.mutex);
// The first part of `range`, as far as its entries are in one slice.
DiskRange InOneSlice(const Core& core, DiskRange range) REQUIRES(core.mutex);

// Refuses all further changes, and tells everybody by the header's corrupt bit. Returns the error
// for the one who found it. Gives the mutex up.
Error MarkCorrupt(Core& core, std::string what) REQUIRES(core.mutex);

// Waits until no pending change overlaps the guest clusters [first, end). True if it waited: then
// the mutex was given up.
bool AwaitPending(Core& core, uint64_t first, uint64_t end) REQUIRES(core.mutex);
void EndPending(Core& core, uint64_t first) REQUIRES(core.mutex);

}  // namespace skiff::qcow2
