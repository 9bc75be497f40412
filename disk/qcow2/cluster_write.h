#pragma once

#include <vector>

#include "disk/qcow2/core.h"

namespace skiff::qcow2 {

// A write of a part of one guest cluster into `host`.
struct ClusterWrite {
  DiskOffset cluster;  // its start
  DiskRange touched;   // by the guest's bytes; inside the cluster
  FileOffset host;     // where the cluster will be
  bool fresh = false;  // `host` has never held anything (see Allocation)
};

struct ClusterChange {
  Entry entry;           // once everything is written
  bool ordered = false;  // it must not be durable before what was written is
};

// What a write makes of a cluster whose entry is `old`. Appends to `fills`, if given, what must be
// copied besides the guest's bytes.
//
// The change is ordered unless a lost write shows what was there before: old zeroes, in a cluster
// that reads as zeroes.
ClusterChange Compose(const Core& core, const Entry& old, const ClusterWrite& write,
                      std::vector<FillStep>* fills);

}  // namespace skiff::qcow2
