#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "disk/qcow2/header.h"

namespace skiff::qcow2 {

// One internal snapshot: an L1 table of its own, and what users know of it. qcow2, "Snapshots".
struct Snapshot {
  FileOffset l1_table_offset;
  uint32_t l1_size = 0;  // entries
  std::string id;        // unique; QEMU and we number them
  std::string name;      // need not be unique
  uint32_t date_sec = 0;
  uint32_t date_nsec = 0;
  uint64_t vm_clock_nsec = 0;
  uint64_t vm_state_size = 0;            // bytes, behind the disk's end in its L2 tables
  uint64_t disk_size = 0;                // bytes; the disk's at that time
  std::optional<uint64_t> icount;        // instructions executed by the guest
  std::vector<std::byte> unknown_extra;  // of the extra data, what is behind the fields above
};

struct SnapshotTable {
  std::vector<Snapshot> snapshots;
  uint64_t bytes = 0;  // of the table in the file
};

// Reads the whole table. Nothing in it is trusted: kCorrupt in words, with the number of the entry,
// if it is longer than the file or than kMaxSnapshotTableBytes, or if an entry's L1 table is
// misplaced or too large. An entry without a disk size of its own has the header's.
Result<SnapshotTable> ReadSnapshots(File& file, const Header& header);

// The table's bytes, as ReadSnapshots() reads them. kOutOfRange if it is larger than QEMU accepts.
Result<std::vector<std::byte>> EncodeSnapshots(const std::vector<Snapshot>& snapshots);

// kCorrupt if its L1 table has fewer entries than its disk takes.
Result<void> CheckCovers(const Snapshot& snapshot, const Geometry& geometry);

// By id, else by name, as QEMU looks for what a user calls a snapshot. nullptr: none.
const Snapshot* FindSnapshot(const std::vector<Snapshot>& snapshots, std::string_view id_or_name);

}  // namespace skiff::qcow2
