#pragma once

#include <cstddef>
#include <cstdint>
#include <list>
#include <span>
#include <unordered_map>
#include <vector>

#include "base/arith.h"
#include "base/position.h"

namespace skiff::qcow2 {

// Metadata is written by pieces of this many bytes, which a disk writes whole or not at all.
inline constexpr uint32_t kSectorSize = 512;

// A part of a table of the file, kept in memory.
class Slice {
 public:
  Slice(FileOffset at, std::vector<std::byte> bytes) : at_(at), bytes_(std::move(bytes)) {}

  FileOffset at() const { return at_; }
  std::span<const std::byte> bytes() const { return bytes_; }
  uint64_t Be64At(size_t offset) const;
  bool dirty() const { return dirty_ != 0; }

 private:
  friend class TableCache;
  FileOffset at_;
  std::vector<std::byte> bytes_;
  uint32_t dirty_ = 0;    // bit n: sector n differs from the file
  uint64_t barrier_ = 0;  // the latest that any dirty sector waits for
  bool being_written_ = false;
};

// Changed bytes on their way to the file. `barrier`: the sync that must have completed before.
struct MetadataWrite {
  FileOffset at;
  std::vector<std::byte> bytes;
  uint64_t barrier = 0;
};

// Slices of tables (L2 tables, refcount blocks) by their place in the file: found in constant
// time, the least recently used clean ones dropped when there are too many bytes. Does no I/O and
// no locking: its owner does both. Slices that are dirty or being written stay, even above the
// limit, so the owner looks at dirty_bytes().
//
// A Slice* is valid until the owner next calls EndLoad(), Insert() or Drop(), or gives up its lock.
class TableCache {
 public:
  // A slice is a cluster or 4 KiB, whichever is less.
  TableCache(uint64_t cluster_size, uint64_t max_bytes);

  uint32_t slice_size() const { return slice_size_; }
  FileOffset SliceOf(FileOffset at) const { return FileOffset(AlignDown(at.value(), slice_size_)); }

  // By the place of its first byte; null: not here.
  Slice* Find(FileOffset slice);

  // Loading: the owner calls StartLoad(), reads without its lock, and calls EndLoad(). Until then
  // IsLoading() keeps others from loading it too.
  bool IsLoading(FileOffset slice) const { return loading_.contains(slice.value()); }
  std::vector<std::byte> StartLoad(FileOffset slice);  // a buffer to read into
  // `bytes` is empty if reading failed. Not kept if Drop() came in between.
  void EndLoad(FileOffset slice, std::vector<std::byte> bytes);

  // Of a table that is new: zeroes, as the file reads there.
  Slice& InsertZeroes(FileOffset slice);
  // Forgets everything; nothing is changed, or being loaded or written.
  void Clear();
  // Forgets all of a range, changes too; loads under way come to nothing.
  void Drop(FileRange range);

  // Changes that must not reach the file before the sync `barrier` has completed (0: at any time).
  void SetBe64(Slice& slice, size_t offset, uint64_t value, uint64_t barrier);
  // Returns the whole slice, for changing [offset, offset + length).
  std::span<std::byte> Modify(Slice& slice, size_t offset, size_t length, uint64_t barrier);

  // Dirty slices' bytes, at most; never less than there are.
  uint64_t dirty_bytes() const { return dirty_.size() * slice_size_; }

  // Appends all changes to `writes` and counts them as written. They stay in memory until
  // EndWrite(), which after a failure makes them changes again; one TakeDirty() at a time.
  void TakeDirty(std::vector<MetadataWrite>& writes);
  void EndWrite(bool success);

 private:
  using List = std::list<Slice>;  // most recently used first
  struct Taken {
    uint64_t place;
    uint32_t sectors;
    uint64_t barrier;
  };
  Slice& Insert(FileOffset slice, std::vector<std::byte> bytes);
  void Erase(List::iterator slice);
  void Evict();
  void MarkDirty(Slice& slice, uint32_t sectors, uint64_t barrier);
  static void AppendRuns(const Slice& slice, std::vector<MetadataWrite>& writes);

  const uint32_t slice_size_;
  const uint64_t max_slices_;
  List slices_;
  std::unordered_map<uint64_t, List::iterator> by_place_;
  std::unordered_map<uint64_t, bool> loading_;  // true: dropped meanwhile
  std::vector<std::vector<std::byte>> spare_;   // buffers of dropped slices
  std::vector<uint64_t> dirty_;                 // places of dirty slices, and of some no longer so
  std::vector<Taken> taken_;
};

}  // namespace skiff::qcow2
