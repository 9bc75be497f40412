#include "tests/qcow2/references.h"

#include <map>

#include "disk/qcow2/entry.h"
#include "disk/qcow2/header.h"
#include "disk/qcow2/refcount_block.h"
#include "disk/qcow2/snapshot_table.h"

namespace skiff::test {
namespace {

using namespace qcow2;

class Walk {
 public:
  Walk(File& file, const Header& header) : file_(file), header_(header), g_(header.geometry) {}

  std::vector<std::string> Run() {
    Refer(FileOffset(0), 1, "header");
    Refer(header_.l1_table_offset, g_.ClustersFor(uint64_t{header_.l1_size} * 8), "L1 table");
    Refer(header_.refcount_table_offset, header_.refcount_table_clusters, "refcount table");
    const auto blocks = Be64s(header_.refcount_table_offset,
                              uint64_t{header_.refcount_table_clusters} * g_.cluster_size() / 8);
    for (const uint64_t block : blocks)
      if (block != 0) Refer(FileOffset(block), 1, "refcount block");
    VisitL1(header_.l1_table_offset, header_.l1_size, /*active=*/true);
    VisitSnapshots();
    for (const auto& [cluster, count] : references_) Compare(blocks, cluster, count);
    return errors_;
  }

 private:
  std::vector<uint64_t> Be64s(FileOffset at, uint64_t count) {
    std::vector<Be64> raw(count);
    if (!ReadBytes(file_, at, std::as_writable_bytes(std::span(raw))).ok())
      Wrong("cannot read", at);
    return {raw.begin(), raw.end()};
  }

  void Wrong(const std::string& what, FileOffset at) {
    errors_.push_back(what + " at " + std::to_string(at.value()));
  }

  void Refer(FileOffset at, uint64_t clusters, const char* what) {
    if (!g_.IsAligned(at)) return Wrong(std::string(what) + " not at a cluster's start", at);
    // The last cluster may be there in part.
    if ((at + (clusters - 1) * g_.cluster_size()).value() >= file_.size())
      Wrong(std::string(what) + " past the end of the file", at);
    for (uint64_t n = 0; n < clusters; ++n) ++references_[(at.value() >> g_.cluster_bits()) + n];
  }

  void VisitSnapshots() {
    const auto table = ReadSnapshots(file_, header_);
    if (!table.ok()) return errors_.push_back(table.error().message());
    if (table->bytes == 0) return;
    Refer(header_.snapshots_offset, g_.ClustersFor(table->bytes), "snapshot table");
    for (const Snapshot& snapshot : table->snapshots) {
      const uint64_t bytes = uint64_t{snapshot.l1_size} * 8;
      Refer(snapshot.l1_table_offset, g_.ClustersFor(bytes), "snapshot's L1 table");
      VisitL1(snapshot.l1_table_offset, snapshot.l1_size, /*active=*/false);
    }
  }

  // The flags in a snapshot's L1 table mean nothing.
  void VisitL1(FileOffset at, uint64_t entries, bool active) {
    for (const uint64_t entry : Be64s(at, entries)) {
      if (entry == 0) continue;
      const FileOffset table(entry & kOffsetMask);
      Refer(table, 1, "L2 table");
      if (active && (entry & kCopied) != 0)
        copied_.insert({table.value() >> g_.cluster_bits(), true});
      if (g_.IsAligned(table)) VisitL2(table);
    }
  }

  void VisitL2(FileOffset table) {
    const uint64_t words = g_.l2_entry_size() / 8;
    const auto raw = Be64s(table, g_.l2_entries() * words);
    for (uint64_t n = 0; n < g_.l2_entries(); ++n) {
      const auto entry = Entry::Decode(raw[n * words], words == 2 ? raw[n * words + 1] : 0, g_);
      if (!entry.ok()) {
        Wrong(entry.error().message(), table);
      } else if (entry->has_host()) {
        Refer(entry->host(), 1, "data");
        if (entry->copied()) copied_.insert({entry->host().value() >> g_.cluster_bits(), true});
      } else if (entry->compressed()) {
        ReferToSource(entry->compressed_source());
      }
    }
  }

  // All clusters that it touches, once each.
  void ReferToSource(FileRange source) {
    const uint64_t first = source.start().value() >> g_.cluster_bits();
    const uint64_t last = (source.end().value() - 1) >> g_.cluster_bits();
    Refer(FileOffset(first << g_.cluster_bits()), last - first + 1, "compressed data");
  }

  void Compare(const std::vector<uint64_t>& blocks, uint64_t cluster, uint64_t references) {
    const uint64_t per_block = g_.refcounts_per_block();
    const uint64_t table_index = cluster / per_block;
    uint64_t count = 0;
    if (table_index < blocks.size() && blocks[table_index] != 0) {
      std::vector<std::byte>& block = blocks_[table_index];
      if (block.empty()) {
        block.resize(g_.cluster_size());
        if (!ReadBytes(file_, FileOffset(blocks[table_index]), block).ok()) return;
      }
      count = RefcountAt(block, g_.refcount_order(), cluster % per_block);
    }
    if (count < references)
      errors_.push_back("cluster " + std::to_string(cluster) + " has the count " +
                        std::to_string(count) + " and " + std::to_string(references) +
                        " references");
    if (copied_.contains(cluster) && count != 1)
      errors_.push_back("cluster " + std::to_string(cluster) + " is COPIED with the count " +
                        std::to_string(count));
  }

  File& file_;
  const Header& header_;
  const Geometry g_;
  std::map<uint64_t, uint64_t> references_;  // by cluster
  std::map<uint64_t, bool> copied_;
  std::map<uint64_t, std::vector<std::byte>> blocks_;  // by index in the refcount table
  std::vector<std::string> errors_;
};

}  // namespace

std::vector<std::string> ErrorsIn(File& file) {
  const auto header = Header::Read(file);
  if (!header.ok()) return {header.error().message()};
  return Walk(file, *header).Run();
}

}  // namespace skiff::test
