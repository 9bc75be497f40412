#pragma once

#include <cstdint>
#include <vector>

#include "disk/qcow2/check/findings.h"
#include "disk/qcow2/check/reference_counts.h"
#include "disk/qcow2/check/stored_counts.h"

namespace skiff::qcow2 {

// A cluster whose count in the file is not what it should be.
struct Difference {
  uint64_t cluster;
  uint64_t stored;
  uint64_t references;
};

// Clusters [first, end) whose counts can't be read.
struct UnknownCounts {
  uint64_t first;
  uint64_t end;
};

struct Comparison {
  std::vector<Difference> differences;  // by cluster
  std::vector<UnknownCounts> unknown;   // by cluster
  uint64_t end = 1;                     // 1 + the last cluster that has a count or a reference
};

// Compares all clusters of the file. Each cluster whose count can't be read is a check error.
Comparison CompareCounts(File& file, StoredCounts& stored, const ReferenceCounts& counts,
                         const Geometry& geometry, Findings& findings);

// Tells of each difference and counts it, as an error, as a leak, or as fixed if `repair` covers
// it. Then it is put right in the file: counts go up first, durably, before others go down, and
// what becomes free is given back to the host.
Result<void> SettleCounts(File& file, StoredCounts& stored, const Geometry& geometry,
                          const std::vector<Difference>& differences, Repair repair,
                          Findings& findings);

}  // namespace skiff::qcow2
