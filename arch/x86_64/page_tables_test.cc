#include "arch/x86_64/page_tables.h"

#include <gtest/gtest.h>

#include <optional>

#include "arch/x86_64/layout.h"

namespace skiff::x86_64 {
namespace {

// Walks the tables as a processor does: the physical address of `linear`, or nothing if no page
// is mapped there or it is not writable.
std::optional<uint64_t> Walk(const GuestMemory& memory, uint64_t cr3, uint64_t linear) {
  uint64_t table = cr3;
  for (int shift = 39; shift >= 21; shift -= 9) {
    const auto entry = memory.Read<uint64_t>(GuestAddr(table + (linear >> shift & 511) * 8));
    if (!entry.ok() || (*entry & 3) != 3) return std::nullopt;
    const uint64_t address = *entry & 0x000F'FFFF'FFFF'F000;
    if ((*entry & 0x80) != 0) {
      const uint64_t offset_mask = (uint64_t{1} << shift) - 1;
      if ((address & offset_mask) != 0) return std::nullopt;  // reserved bits
      return address | (linear & offset_mask);
    }
    table = address;
  }
  return std::nullopt;
}

TEST(PageTables, MapFourGibOneToOneAndNothingElse) {
  const GuestRange ram = GuestRange::Make(GuestAddr(0), kMiB).value();
  auto memory = GuestMemory::Allocate(std::span(&ram, 1));
  ASSERT_TRUE(memory.ok());
  const auto cr3 = WriteIdentityPageTables(*memory);
  ASSERT_TRUE(cr3.ok());

  for (uint64_t address = 0; address < 4 * kGiB; address += kMiB)
    ASSERT_EQ(Walk(*memory, cr3->value(), address + 0x123), address + 0x123);
  EXPECT_EQ(Walk(*memory, cr3->value(), 4 * kGiB - 1), 4 * kGiB - 1);
  EXPECT_EQ(Walk(*memory, cr3->value(), 4 * kGiB), std::nullopt);
  EXPECT_EQ(Walk(*memory, cr3->value(), uint64_t{1} << 47), std::nullopt);
}

TEST(PageTables, NeedMemoryWhereTheyGo) {
  const GuestRange ram = GuestRange::Make(GuestAddr(0), kPageTablesEnd - 0x1000).value();
  auto memory = GuestMemory::Allocate(std::span(&ram, 1));
  ASSERT_TRUE(memory.ok());
  EXPECT_FALSE(WriteIdentityPageTables(*memory).ok());
}

}  // namespace
}  // namespace skiff::x86_64
