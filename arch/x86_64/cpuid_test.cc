#include "arch/x86_64/cpuid.h"

#include <gtest/gtest.h>

#include <array>
#include <cstring>

namespace skiff::x86_64 {
namespace {

kvm_cpuid_entry2 Leaf(uint32_t function, uint32_t index, std::array<uint32_t, 4> registers) {
  kvm_cpuid_entry2 entry{};
  entry.function = function;
  entry.index = index;
  entry.eax = registers[0];
  entry.ebx = registers[1];
  entry.ecx = registers[2];
  entry.edx = registers[3];
  return entry;
}

kvm_cpuid_entry2 Vendor(const char* name, uint32_t last_leaf) {
  kvm_cpuid_entry2 entry = Leaf(0, 0, {last_leaf, 0, 0, 0});
  std::memcpy(&entry.ebx, name, 4);
  std::memcpy(&entry.edx, name + 4, 4);
  std::memcpy(&entry.ecx, name + 8, 4);
  return entry;
}

// A host with 2 sockets of 32 cores with 2 threads, seen from its CPU 77 (0x4D).
CpuidTable IntelHost() {
  return {
      Vendor("GenuineIntel", 0x1F),
      Leaf(1, 0, {0x000606A6, 0x4D400800, 0x76FA3203, 0x1FABFBFF}),
      Leaf(4, 0, {0x7C004121, 0x02C0003F, 63, 0}),     // L1d, 2 threads
      Leaf(4, 1, {0x7C004122, 0x01C0003F, 63, 0}),     // L1i
      Leaf(4, 2, {0x7C004143, 0x04C0003F, 1023, 0}),   // L2
      Leaf(4, 3, {0x7C0FC163, 0x02C0003F, 65535, 4}),  // L3, 64 threads
      Leaf(4, 4, {0, 0, 0, 0}),
      Leaf(0xB, 0, {1, 2, 0x100, 0x4D}),
      Leaf(0xB, 1, {6, 64, 0x201, 0x4D}),
      Leaf(0x1F, 0, {1, 2, 0x100, 0x4D}),
      Leaf(0x40000000, 0, {0x40000001, 0x4B4D564B, 0x564B4D56, 0x4D}),
      Leaf(0x40000001, 0, {0x01007AFB, 0, 0, 0}),
      Leaf(0x80000001, 0, {0, 0, 0x121, 0x2C100800}),
      Leaf(0x80000008, 0, {0x3034, 0, 0, 0}),
  };
}

CpuidTable AmdHost() {
  return {
      Vendor("AuthenticAMD", 0x10),
      Leaf(1, 0, {0x00A00F11, 0x4D800800, 0x76D83203, 0x178BFBFF}),
      Leaf(0xB, 0, {1, 2, 0x100, 0x4D}),
      Leaf(0x80000001, 0, {0x00A00F11, 0, 0x004003F3, 0x2C500800}),
      Leaf(0x80000008, 0, {0x3030, 0, 0x707F, 0}),
      Leaf(0x8000001D, 0, {0x00004121, 0, 0, 0}),
      Leaf(0x8000001D, 3, {0x0003C163, 0, 0, 0}),
      Leaf(0x8000001E, 0, {0x4D, 0x126, 0x101, 0}),
      Leaf(0x80000026, 0, {1, 2, 0x100, 0x4D}),
  };
}

const kvm_cpuid_entry2& At(const CpuidTable& table, uint32_t function, uint32_t index = 0) {
  static const kvm_cpuid_entry2 kMissing{};
  for (const auto& entry : table)
    if (entry.function == function && entry.index == index) return entry;
  ADD_FAILURE() << "no leaf " << function << "." << index;
  return kMissing;
}

uint32_t Count(const CpuidTable& table, uint32_t function) {
  uint32_t count = 0;
  for (const auto& entry : table) count += entry.function == function;
  return count;
}

TEST(GuestCpuid, GivesEachVcpuItsIndexAsApicId) {
  for (const auto& host : {IntelHost(), AmdHost()}) {
    for (uint32_t index = 0; index < 5; ++index) {
      const CpuidTable table = GuestCpuid(host, {.cpus = 5}, index);
      EXPECT_EQ(At(table, 1).ebx >> 24, index);
      for (uint32_t level = 0; level < 3; ++level)
        EXPECT_EQ(At(table, 0xB, level).edx, index) << level;
    }
  }
}

TEST(GuestCpuid, DescribesOneSocketOfSingleThreadedCores) {
  const CpuidTable table = GuestCpuid(IntelHost(), {.cpus = 6}, 5);
  EXPECT_EQ(At(table, 1).ebx >> 16 & 0xFF, 8u);
  EXPECT_NE(At(table, 1).edx & 1u << 28, 0u);
  for (const uint32_t leaf : {0xBu, 0x1Fu}) {
    EXPECT_EQ(At(table, leaf, 0).eax, 0u);
    EXPECT_EQ(At(table, leaf, 0).ebx, 1u);
    EXPECT_EQ(At(table, leaf, 0).ecx, 0x100u);
    EXPECT_EQ(At(table, leaf, 1).eax, 3u);
    EXPECT_EQ(At(table, leaf, 1).ebx, 6u);
    EXPECT_EQ(At(table, leaf, 1).ecx, 0x201u);
    EXPECT_EQ(At(table, leaf, 2).ebx, 0u);
    EXPECT_EQ(At(table, leaf, 2).ecx, 2u);
    EXPECT_EQ(Count(table, leaf), 3u);  // none of the host's own
  }
}

TEST(GuestCpuid, OneCpuIsNoMultiThreading) {
  const CpuidTable table = GuestCpuid(IntelHost(), {.cpus = 1}, 0);
  EXPECT_EQ(At(table, 1).edx & 1u << 28, 0u);
  EXPECT_EQ(At(table, 1).ebx >> 16 & 0xFF, 1u);
  EXPECT_EQ(At(table, 0xB, 1).eax, 0u);
  EXPECT_EQ(At(table, 0xB, 1).ebx, 1u);
  EXPECT_EQ(GuestCpuid(AmdHost(), {.cpus = 1}, 0)[3].ecx & 2, 0u);  // CmpLegacy
}

TEST(GuestCpuid, CoresHaveTheirCachesAndShareTheThirdLevel) {
  const CpuidTable intel = GuestCpuid(IntelHost(), {.cpus = 4}, 0);
  for (uint32_t cache = 0; cache < 4; ++cache) {
    EXPECT_EQ(At(intel, 4, cache).eax >> 26, 3u);
    EXPECT_EQ(At(intel, 4, cache).eax >> 14 & 0xFFF, cache == 3 ? 3u : 0u);
    EXPECT_EQ(At(intel, 4, cache).eax & 0x3FFF, At(IntelHost(), 4, cache).eax & 0x3FFF);
  }
  EXPECT_EQ(At(intel, 4, 4).eax, 0u);  // still the end of the list

  const CpuidTable amd = GuestCpuid(AmdHost(), {.cpus = 4}, 0);
  EXPECT_EQ(At(amd, 0x8000001D, 0).eax >> 14 & 0xFFF, 0u);
  EXPECT_EQ(At(amd, 0x8000001D, 3).eax >> 14 & 0xFFF, 3u);
}

TEST(GuestCpuid, AmdLeavesAgree) {
  const CpuidTable table = GuestCpuid(AmdHost(), {.cpus = 6}, 4);
  EXPECT_EQ(At(table, 0x80000008).ecx, 0x3005u);  // ids of 3 bits, 6 cores
  EXPECT_EQ(At(table, 0x80000008).eax, 0x3030u);
  EXPECT_EQ(At(table, 0x8000001E).eax, 4u);
  EXPECT_EQ(At(table, 0x8000001E).ebx, 4u);
  EXPECT_EQ(At(table, 0x8000001E).ecx, 0u);
  EXPECT_NE(At(table, 0x80000001).ecx & 1u << 1, 0u);
  EXPECT_NE(At(table, 0x80000001).ecx & 1u << 22, 0u);
  EXPECT_EQ(Count(table, 0x80000026), 0u);  // the host's topology
  EXPECT_EQ(Count(table, 0x1F), 0u);        // beyond the last leaf
}

TEST(GuestCpuid, NoTopologyExtensionsWithoutTheirLeaf) {
  CpuidTable host = AmdHost();
  std::erase_if(host, [](const auto& entry) { return entry.function == 0x8000001E; });
  EXPECT_EQ(At(GuestCpuid(host, {.cpus = 2}, 0), 0x80000001).ecx & 1u << 22, 0u);
}

TEST(GuestCpuid, IntelKeepsItsReservedBits) {
  const CpuidTable table = GuestCpuid(IntelHost(), {.cpus = 4}, 1);
  EXPECT_EQ(At(table, 0x80000008).ecx, 0u);
  EXPECT_EQ(At(table, 0x80000001).ecx, 0x121u);
}

TEST(GuestCpuid, OffersTheDeadlineTimerOnlyWhereKvmHasIt) {
  const uint32_t bit = 1u << 24;
  EXPECT_EQ(At(GuestCpuid(AmdHost(), {.cpus = 1}, 0), 1).ecx & bit, 0u);
  EXPECT_EQ(At(GuestCpuid(AmdHost(), {.cpus = 1, .tsc_deadline_timer = true}, 0), 1).ecx & bit,
            bit);
}

TEST(GuestCpuid, SaysThatItIsAGuestWithX2apicAndKeepsKvmsLeaves) {
  const CpuidTable table = GuestCpuid(IntelHost(), {.cpus = 2}, 0);
  EXPECT_NE(At(table, 1).ecx & 1u << 31, 0u);
  EXPECT_NE(At(table, 1).ecx & 1u << 21, 0u);
  EXPECT_EQ(At(table, 0x40000001).eax, 0x01007AFBu);
  EXPECT_EQ(At(table, 0x40000000).ebx, 0x4B4D564Bu);
}

TEST(GuestCpuid, CountsThatDoNotFitTheirFieldsSaturate) {
  const CpuidTable intel = GuestCpuid(IntelHost(), {.cpus = 255}, 254);
  EXPECT_EQ(At(intel, 1).ebx >> 24, 254u);
  EXPECT_EQ(At(intel, 1).ebx >> 16 & 0xFF, 255u);  // 256 ids
  EXPECT_EQ(At(intel, 4, 0).eax >> 26, 63u);
  EXPECT_EQ(At(intel, 0xB, 1).eax, 8u);
  EXPECT_EQ(At(GuestCpuid(AmdHost(), {.cpus = 255}, 0), 0x80000008).ecx, 0x80FEu);
}

TEST(GuestCpuid, OldProcessorsGetNoLeavesBeyondTheirLast) {
  CpuidTable host = {Vendor("AuthenticAMD", 6), Leaf(1, 0, {0, 0, 0, 0})};
  EXPECT_EQ(GuestCpuid(host, {.cpus = 4}, 3).size(), 2u);
  EXPECT_EQ(GuestCpuid({}, {.cpus = 4}, 3).size(), 0u);
}

TEST(PhysicalAddressBits, AreTheHostsOrTheOldestProcessors) {
  EXPECT_EQ(PhysicalAddressBits(IntelHost()), 52u);
  EXPECT_EQ(PhysicalAddressBits(AmdHost()), 48u);
  EXPECT_EQ(PhysicalAddressBits({}), 36u);
}

}  // namespace
}  // namespace skiff::x86_64
