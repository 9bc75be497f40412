#include "tests/bench/memory_use.h"

#include <charconv>

namespace skiff::bench {
namespace {

constexpr uint64_t kGuestMappingKib = 100 * 1024;

struct Mapping {
  uint64_t size = 0;
  uint64_t rss = 0;
  uint64_t private_dirty = 0;
};

// "Rss:      12 kB" sets `value` if `line` has that name.
void Take(std::string_view line, std::string_view name, uint64_t& value) {
  if (!line.starts_with(name)) return;
  line.remove_prefix(name.size());
  const size_t digits = line.find_first_not_of(' ');
  if (digits == std::string_view::npos) return;
  std::from_chars(line.data() + digits, line.data() + line.size(), value);
}

void Add(const Mapping& mapping, MemoryUse& use) {
  if (mapping.size >= kGuestMappingKib) {
    use.guest_rss_kib += mapping.rss;
    return;
  }
  use.own_rss_kib += mapping.rss;
  use.own_dirty_kib += mapping.private_dirty;
}

}  // namespace

// Each mapping is its line of addresses, then "Size:", then the rest.
MemoryUse SumMappings(std::string_view smaps) {
  MemoryUse use;
  Mapping mapping;
  while (!smaps.empty()) {
    const std::string_view line = smaps.substr(0, smaps.find('\n'));
    smaps.remove_prefix(line.size() < smaps.size() ? line.size() + 1 : line.size());
    if (line.starts_with("Size:")) {
      Add(mapping, use);
      mapping = {};
      Take(line, "Size:", mapping.size);
    }
    Take(line, "Rss:", mapping.rss);
    Take(line, "Private_Dirty:", mapping.private_dirty);
  }
  Add(mapping, use);
  return use;
}

}  // namespace skiff::bench
