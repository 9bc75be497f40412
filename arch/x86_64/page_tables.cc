#include "arch/x86_64/page_tables.h"

#include <array>

#include "arch/x86_64/layout.h"
#include "base/endian.h"

namespace skiff::x86_64 {

namespace {

// Intel SDM vol. 3A, 4.5 "4-Level Paging".
constexpr uint64_t kPresent = 1 << 0;
constexpr uint64_t kWritable = 1 << 1;
constexpr uint64_t kPageSize = 1 << 7;  // in a page directory: maps 2 MiB itself
constexpr uint64_t kTableBytes = 4096;
constexpr uint64_t kLargePage = 2 * kMiB;
constexpr size_t kEntries = 512;
constexpr size_t kDirectories = 4;  // 1 GiB each

constexpr GuestAddr kPml4{kPageTablesAddress};
constexpr GuestAddr kPdpt = kPml4 + kTableBytes;
constexpr GuestAddr kFirstDirectory = kPdpt + kTableBytes;
static_assert(kFirstDirectory.value() + kDirectories * kTableBytes == kPageTablesEnd);

using Table = std::array<Le64, kEntries>;

}  // namespace

Result<GuestAddr> WriteIdentityPageTables(const GuestMemory& memory) {
  Table pml4{};
  pml4[0] = kPdpt.value() | kPresent | kWritable;
  TRY(memory.Write(kPml4, pml4));

  Table pdpt{};
  for (size_t i = 0; i < kDirectories; ++i)
    pdpt[i] = (kFirstDirectory.value() + i * kTableBytes) | kPresent | kWritable;
  TRY(memory.Write(kPdpt, pdpt));

  uint64_t page = 0;
  for (size_t i = 0; i < kDirectories; ++i) {
    Table directory{};
    for (Le64& entry : directory) {
      entry = page | kPresent | kWritable | kPageSize;
      page += kLargePage;
    }
    TRY(memory.Write(kFirstDirectory + i * kTableBytes, directory));
  }
  return kPml4;
}

}  // namespace skiff::x86_64
