#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "disk/qcow2/bitmap_directory.h"
#include "disk/qcow2/check/findings.h"
#include "disk/qcow2/check/reference_counts.h"
#include "disk/qcow2/check/stored_counts.h"
#include "disk/qcow2/header.h"
#include "disk/qcow2/snapshot_table.h"

namespace skiff::qcow2 {

// An L2 table and how many L1 entries name it.
struct TableUse {
  FileOffset table;
  uint64_t active = 0;  // of the active L1 table
  uint64_t all = 0;     // of all L1 tables
};

// Visits all metadata of an image, counts what it refers to, and finds what can't be right.
class ReferenceWalk {
 public:
  // `repair`: entries that can be put right where they are, are.
  ReferenceWalk(File& file, const Header& header, Repair repair, Findings& findings,
                ReferenceCounts& counts);

  // All but the refcount structure. An error if the active L1 table or the snapshot table cannot be
  // read: then nothing else makes sense.
  Result<void> VisitTables();
  // The refcount table and its blocks.
  void VisitCounts(const StoredCounts& stored);

  // The L2 tables of the active L1 table, by their place, each once.
  const std::vector<TableUse>& tables() const { return tables_; }
  // Some entry of the active disk lacks the COPIED flag, or refers to what is not in the file: most
  // images have none.
  bool flags_in_doubt() const { return flags_in_doubt_; }

 private:
  void AddReference(uint64_t cluster, uint64_t times);
  // Counts the clusters that [at, at + length) touches, `times` each. False if they are not in the
  // file.
  bool Refer(uint64_t at, uint64_t length, uint64_t times = 1);
  void VisitL1(FileOffset at, uint64_t entries, bool active);
  void VisitSnapshots(const SnapshotTable& table);
  void VisitBitmaps(const BitmapDirectory& directory);
  Result<void> CheckTotal(const SnapshotTable& snapshots, const BitmapDirectory& bitmaps) const;
  void VisitBitmapTable(const BitmapTable& table);
  void CombineUses();
  void VisitL2(const TableUse& use);
  bool VisitPlain(const TableUse& use, uint64_t bits);
  void VisitEntry(const TableUse& use, uint64_t index, uint64_t bits, uint64_t bitmap);
  void VisitHost(const TableUse& use, uint64_t index, uint64_t bits, uint64_t bitmap);
  void VisitCompressed(const TableUse& use, uint64_t bits, uint64_t bitmap);
  bool MakeZero(const TableUse& use, uint64_t index);
  void Unreadable(std::string_view what, const Error& error);

  File& file_;
  const Header& header_;
  const Geometry geometry_;
  const uint64_t file_size_;
  const bool external_data_;
  const Repair repair_;
  Findings& findings_;
  ReferenceCounts& counts_;
  std::vector<TableUse> tables_;
  size_t most_uses_ = 1 << 16;  // of tables_ after the last CombineUses(), at least
  std::vector<std::byte> l2_;
  uint64_t contiguous_ = 0;  // where the next cluster of the disk would follow the one before
  bool flags_in_doubt_ = false;
};

}  // namespace skiff::qcow2
