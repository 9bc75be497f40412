#include "tests/bench/memory_use.h"

#include <gtest/gtest.h>

#include "tests/bench/text_file.h"

namespace skiff::bench {
namespace {

TEST(SumMappings, LeavesOutTheGuestsMemory) {
  const MemoryUse use = SumMappings(
      "00400000-00600000 r-xp 00000000 00:16 21 /bin/skiff\n"
      "Size:               2048 kB\n"
      "Rss:                 500 kB\n"
      "Private_Dirty:         0 kB\n"
      "7f0000000000-7f0020000000 rw-p 00000000 00:00 0 \n"
      "Size:             524288 kB\n"
      "Rss:              120000 kB\n"
      "Private_Dirty:    120000 kB\n"
      "7ffd00000000-7ffd00100000 rw-p 00000000 00:00 0 [stack]\n"
      "Size:                132 kB\n"
      "Rss:                  24 kB\n"
      "Private_Dirty:        16 kB\n");
  EXPECT_EQ(use.own_dirty_kib, 16u);
  EXPECT_EQ(use.own_rss_kib, 524u);
  EXPECT_EQ(use.guest_rss_kib, 120000u);
}

TEST(SumMappings, AMappingOf100MibIsTheGuests) {
  EXPECT_EQ(SumMappings("Size: 102400 kB\nPrivate_Dirty: 7 kB\n").own_dirty_kib, 0u);
  EXPECT_EQ(SumMappings("Size: 102396 kB\nPrivate_Dirty: 7 kB\n").own_dirty_kib, 7u);
}

TEST(SumMappings, ReadsWhatTheKernelWrites) {
  const auto smaps = ReadTextFile("/proc/self/smaps");
  ASSERT_TRUE(smaps.ok());
  const MemoryUse use = SumMappings(smaps.value());
  EXPECT_GT(use.own_dirty_kib, 0u);
  EXPECT_GT(use.own_rss_kib, use.own_dirty_kib);
}

TEST(SumMappings, NothingIsNothing) {
  EXPECT_EQ(SumMappings("").own_rss_kib, 0u);
  EXPECT_EQ(SumMappings("Size:\nRss:").own_rss_kib, 0u);
}

}  // namespace
}  // namespace skiff::bench
