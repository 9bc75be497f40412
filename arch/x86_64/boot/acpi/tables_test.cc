#include "arch/x86_64/boot/acpi/tables.h"

#include <gtest/gtest.h>

#include <cstring>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "arch/x86_64/boot/acpi/format.h"
#include "arch/x86_64/boot/low_memory.h"
#include "base/arith.h"

namespace skiff::x86_64::acpi {
namespace {

GuestRange At(uint64_t start, uint64_t length) {
  return GuestRange::Make(GuestAddr(start), length).value();
}

using Bytes = std::vector<std::byte>;

uint8_t Sum(std::span<const std::byte> bytes) {
  uint8_t sum = 0;
  for (const std::byte b : bytes) sum = static_cast<uint8_t>(sum + std::to_integer<uint8_t>(b));
  return sum;
}

// Finds the tables as an operating system does.
class Acpi {
 public:
  explicit Acpi(const Platform& platform)
      : memory_(GuestMemory::Allocate(std::vector{At(0, 2 * kMiB)}).value()),
        rsdp_(WriteTables(memory_, platform).value()) {
    const auto rsdp = memory_.Read<Rsdp>(rsdp_).value();
    const Bytes xsdt = Table(GuestAddr(rsdp.XsdtAddress));
    for (size_t at = sizeof(TableHeader); at < xsdt.size(); at += sizeof(Le64)) {
      Le64 address;
      std::memcpy(&address, &xsdt[at], sizeof address);
      Add(GuestAddr(address));
    }
    Add(GuestAddr(Body<FadtBody>("FACP").X_DSDT));
  }

  Bytes Copy(GuestAddr at, size_t length) const {
    Bytes bytes(length);
    memory_.At(At_(at, length)).value().CopyTo(bytes);
    return bytes;
  }
  Bytes Table(GuestAddr at) const { return Copy(at, memory_.Read<TableHeader>(at).value().Length); }
  template <typename T>
  T Body(const std::string& signature) const {
    T body;
    std::memcpy(&body, &tables.at(signature).at(sizeof(TableHeader)), sizeof body);
    return body;
  }
  GuestAddr rsdp() const { return rsdp_; }

  std::map<std::string, Bytes> tables;
  std::vector<GuestRange> places;

 private:
  static GuestRange At_(GuestAddr at, size_t length) {
    return GuestRange::Make(at, length).value();
  }
  void Add(GuestAddr at) {
    const auto signature = memory_.Read<TableHeader>(at)->Signature;
    tables[std::string(signature.begin(), signature.end())] = Table(at);
    places.push_back(At_(at, Table(at).size()));
  }

  GuestMemory memory_;
  GuestAddr rsdp_;
};

Platform SomePlatform(uint32_t cpus = 2) {
  Platform platform;
  platform.cpus = cpus;
  platform.low_ram = At(0, 2 * kMiB);
  platform.ecam = At(0xe0000000, kMiB);
  platform.mmio_window = At(0xc0000000, 512 * kMiB);
  platform.has_rtc = true;
  return platform;
}

TEST(AcpiTables, RsdpIsWhereAScanFindsIt) {
  const Acpi acpi(SomePlatform());
  EXPECT_GE(acpi.rsdp().value(), 0xe0000u);
  EXPECT_LT(acpi.rsdp().value(), 0x100000u);
  EXPECT_EQ(acpi.rsdp().value() % 16, 0u);
  const Bytes rsdp = acpi.Copy(acpi.rsdp(), sizeof(Rsdp));
  EXPECT_EQ(std::memcmp(rsdp.data(), "RSD PTR ", 8), 0);
  EXPECT_EQ(Sum(std::span(rsdp).first(kRsdpFirstPartBytes)), 0);
  EXPECT_EQ(Sum(rsdp), 0);
}

TEST(AcpiTables, ChecksumsAndPlacesAreRight) {
  const Acpi acpi(SomePlatform());
  EXPECT_EQ(acpi.tables.size(), 4u);
  for (const auto& [signature, bytes] : acpi.tables) EXPECT_EQ(Sum(bytes), 0) << signature;
  const GuestRange rom = At(0xe0000, 0x20000);
  for (const GuestRange& place : acpi.places) {
    EXPECT_TRUE(rom.Contains(place));
    EXPECT_FALSE(place.Overlaps(At(acpi.rsdp().value(), sizeof(Rsdp))));
    for (const GuestRange& other : acpi.places) {
      EXPECT_TRUE(&place == &other || !place.Overlaps(other));
    }
  }
}

// 5.2.12.12: x2APIC structures only for ids that the 8-bit ones cannot name.
TEST(AcpiTables, EveryCpuIsListedOnce) {
  for (const uint32_t cpus : {1u, 2u, 254u, 255u, 256u, 1024u}) {
    const Acpi acpi(SomePlatform(cpus));
    const Bytes& madt = acpi.tables.at("APIC");
    std::set<uint32_t> ids;
    size_t at = sizeof(TableHeader) + sizeof(MadtBody);
    while (at < madt.size()) {
      if (madt[at] == std::byte{0}) {
        ASSERT_TRUE(ids.insert(std::to_integer<uint32_t>(madt[at + 3])).second);
      } else if (madt[at] == std::byte{9}) {
        LocalX2Apic entry;
        std::memcpy(&entry, &madt[at], sizeof entry);
        ASSERT_GE(entry.X2ApicId, 255u);
        ASSERT_TRUE(ids.insert(entry.X2ApicId).second);
      }
      ASSERT_NE(madt[at + 1], std::byte{0});
      at += std::to_integer<size_t>(madt[at + 1]);
    }
    EXPECT_EQ(at, madt.size());
    EXPECT_EQ(ids.size(), cpus);
    EXPECT_EQ(*ids.rbegin(), cpus - 1);
  }
}

TEST(AcpiTables, TooManyCpusAreAnError) {
  const auto memory = GuestMemory::Allocate(std::vector{At(0, 2 * kMiB)}).value();
  const auto result = WriteTables(memory, SomePlatform(100000));
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.error().code(), ErrorCode::kOutOfRange);
}

TEST(AcpiTables, FadtTellsOfTheClockOnlyIfThereIsOne) {
  Platform platform = SomePlatform();
  EXPECT_EQ(Acpi(platform).Body<FadtBody>("FACP").IAPC_BOOT_ARCH & kCmosRtcNotPresent, 0);
  EXPECT_EQ(Acpi(platform).Body<FadtBody>("FACP").CENTURY, 0x32);
  platform.has_rtc = false;
  EXPECT_NE(Acpi(platform).Body<FadtBody>("FACP").IAPC_BOOT_ARCH & kCmosRtcNotPresent, 0);
}

TEST(AcpiTables, McfgCoversBusZeroAlone) {
  const auto mcfg = Acpi(SomePlatform()).Body<McfgBody>("MCFG");
  EXPECT_EQ(mcfg.BaseAddress, 0xe0000000u);
  EXPECT_EQ(mcfg.StartBusNumber, 0);
  EXPECT_EQ(mcfg.EndBusNumber, 0);
}

TEST(AcpiTables, WithoutEcamThereIsNoMcfg) {
  Platform platform = SomePlatform();
  platform.ecam = {};
  EXPECT_EQ(Acpi(platform).tables.count("MCFG"), 0u);
}

}  // namespace
}  // namespace skiff::x86_64::acpi
