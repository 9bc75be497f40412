#pragma once

#include <cstdint>

#include "disk/block.h"

namespace skiff::tool {

// A run of equal requests, as `bench` has them.
struct BenchPlan {
  uint64_t count = 75000;  // of requests
  uint32_t depth = 64;     // in flight at most
  bool write = false;
  uint64_t offset = 0;          // bytes; of the first
  uint64_t buffer_size = 4096;  // bytes; of each
  uint64_t step = 0;            // bytes from one to the next; wraps at the disk's end
  uint64_t flush_interval = 0;  // requests; 0: no flushes
  bool drain = true;            // a flush waits until nothing is in flight
  uint8_t pattern = 0;          // what is written
};

// Carries the plan out by one queue. The first error ends it.
Result<void> RunBench(BlockBackend& disk, const BenchPlan& plan);

}  // namespace skiff::tool
