#pragma once

#include <cstdint>
#include <string_view>

namespace skiff::bench {

// What a process holds in memory, in KiB.
struct MemoryUse {
  uint64_t own_dirty_kib = 0;  // Private_Dirty without the guest's memory
  uint64_t own_rss_kib = 0;    // Rss without the guest's memory
  uint64_t guest_rss_kib = 0;  // Rss of the guest's memory
};

// Takes the text of /proc/PID/smaps. Mappings of at least 100 MiB are the guest's memory: no
// monitor here has one of another kind, nor a part of the guest's memory that is smaller.
MemoryUse SumMappings(std::string_view smaps);

}  // namespace skiff::bench
