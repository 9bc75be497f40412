#include "arch/x86_64/boot/acpi/tables.h"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <span>
#include <string>
#include <vector>

#include "arch/x86_64/boot/acpi/dsdt.h"
#include "arch/x86_64/boot/acpi/format.h"
#include "arch/x86_64/boot/low_memory.h"
#include "base/arith.h"
#include "devices/legacy/acpi_ports.h"
#include "devices/legacy/rtc_mc146818_registers.h"

namespace skiff::x86_64::acpi {

namespace {

using Bytes = std::vector<std::byte>;

constexpr Text<6> kOemId = {'S', 'K', 'I', 'F', 'F', ' '};
constexpr Text<8> kOemTableId = {'S', 'K', 'I', 'F', 'F', 'P', 'C', ' '};
constexpr Text<4> kCreatorId = {'S', 'K', 'F', 'F'};

// An 8-bit APIC id of 255 means all; from there on ids need the x2APIC structures.
constexpr uint32_t kFirstX2ApicId = 255;

template <typename T>
void Append(Bytes& to, const T& value) {
  const auto bytes = std::as_bytes(std::span(&value, 1));
  to.insert(to.end(), bytes.begin(), bytes.end());
}

// What makes all bytes add up to 0.
uint8_t ChecksumOf(std::span<const std::byte> bytes) {
  const auto add = [](uint8_t sum, std::byte b) {
    return static_cast<uint8_t>(sum + std::to_integer<uint8_t>(b));
  };
  return static_cast<uint8_t>(-std::accumulate(bytes.begin(), bytes.end(), uint8_t{0}, add));
}

Bytes MakeTable(const Text<4>& signature, uint8_t revision, const Bytes& body) {
  TableHeader header{};
  header.Signature = signature;
  header.Length = static_cast<uint32_t>(sizeof header + body.size());
  header.Revision = revision;
  header.OemId = kOemId;
  header.OemTableId = kOemTableId;
  header.OemRevision = 1;
  header.CreatorId = kCreatorId;
  header.CreatorRevision = 1;
  Bytes table;
  Append(table, header);
  table.insert(table.end(), body.begin(), body.end());
  table[offsetof(TableHeader, Checksum)] = std::byte{ChecksumOf(table)};
  return table;
}

Bytes MakeDsdt(const Platform& platform) {
  Bytes body;
  for (const aml::Term& term : DescribeDevices(platform)) {
    body.insert(body.end(), term.bytes.begin(), term.bytes.end());
  }
  return MakeTable({'D', 'S', 'D', 'T'}, 2, body);  // revision 2: integers of 64 bits
}

GenericAddress BytePort(uint64_t port) { return {kSystemIo, 8, 0, kByteAccess, port}; }

// The hardware-reduced model (ACPI 6.4, 4.1): sleep and reset registers, and neither SCI, PM timer
// nor PM1 blocks, so that a guest looks for none of them.
Bytes MakeFadt(const Platform& platform, GuestAddr dsdt) {
  FadtBody fadt{};
  fadt.DSDT = static_cast<uint32_t>(dsdt.value());
  fadt.X_DSDT = dsdt.value();
  fadt.P_LVL2_LAT = 101;  // above 100 and 1000: no C2, no C3
  fadt.P_LVL3_LAT = 1001;
  fadt.CENTURY = platform.has_rtc ? static_cast<uint8_t>(RtcRegister::kCentury) : uint8_t{0};
  const int no_rtc = platform.has_rtc ? 0 : kCmosRtcNotPresent;
  fadt.IAPC_BOOT_ARCH = static_cast<uint16_t>(kVgaNotPresent | kNoAspmControls | no_rtc);
  fadt.Flags = kWbinvd | kNoFixedPowerButton | kNoFixedSleepButton | kResetRegisterSupported |
               kHeadless | kHardwareReduced;
  fadt.RESET_REG = BytePort(kAcpiResetPort);
  fadt.RESET_VALUE = kAcpiResetValue;
  fadt.FADT_Minor_Version = kFadtMinorRevision;
  fadt.SLEEP_CONTROL_REG = BytePort(kAcpiSleepControlPort);
  fadt.SLEEP_STATUS_REG = BytePort(kAcpiSleepStatusPort);
  fadt.HypervisorVendorIdentity = {'s', 'k', 'i', 'f', 'f'};
  Bytes body;
  Append(body, fadt);
  return MakeTable({'F', 'A', 'C', 'P'}, kFadtRevision, body);
}

void AppendProcessor(Bytes& madt, uint32_t id) {
  if (id < kFirstX2ApicId) {
    LocalApic entry{};
    entry.AcpiProcessorUid = static_cast<uint8_t>(id);
    entry.ApicId = static_cast<uint8_t>(id);
    entry.Flags = kProcessorEnabled;
    return Append(madt, entry);
  }
  LocalX2Apic entry{};
  entry.X2ApicId = id;
  entry.AcpiProcessorUid = id;
  entry.Flags = kProcessorEnabled;
  Append(madt, entry);
}

// The PIT's interrupt is wired to input 2 of the I/O APIC, as in every PC.
void AppendTimerOverride(Bytes& madt) {
  InterruptSourceOverride timer{};
  timer.Source = 0;
  timer.GlobalSystemInterrupt = 2;
  Append(madt, timer);
}

Bytes MakeMadt(const Platform& platform) {
  Bytes madt;
  Append(madt, MadtBody{platform.local_apic, kPcatCompatible});
  for (uint32_t id = 0; id < platform.cpus; ++id) AppendProcessor(madt, id);
  IoApic io_apic{};
  io_apic.IoApicAddress = platform.io_apic;
  Append(madt, io_apic);
  AppendTimerOverride(madt);
  Append(madt, LocalApicNmi{});
  if (platform.cpus > kFirstX2ApicId) Append(madt, LocalX2ApicNmi{});
  return MakeTable({'A', 'P', 'I', 'C'}, kMadtRevision, madt);
}

Bytes MakeMcfg(const Platform& platform) {
  McfgBody mcfg{};
  mcfg.BaseAddress = platform.ecam.start().value();  // bus 0 to bus 0
  Bytes body;
  Append(body, mcfg);
  return MakeTable({'M', 'C', 'F', 'G'}, 1, body);
}

Bytes MakeXsdt(std::span<const GuestAddr> tables) {
  Bytes body;
  for (const GuestAddr table : tables) Append(body, Le64(table.value()));
  return MakeTable({'X', 'S', 'D', 'T'}, 1, body);
}

Bytes MakeRsdp(GuestAddr xsdt) {
  Rsdp rsdp{};
  rsdp.OemId = kOemId;
  rsdp.XsdtAddress = xsdt.value();
  const auto bytes = std::as_bytes(std::span(&rsdp, 1));
  rsdp.Checksum = ChecksumOf(bytes.first(kRsdpFirstPartBytes));
  rsdp.ExtendedChecksum = ChecksumOf(bytes);
  return {bytes.begin(), bytes.end()};
}

// Puts tables one behind the other between the RSDP and 1 MiB.
class TableArea {
 public:
  explicit TableArea(const GuestMemory& memory) : memory_(memory) {}

  Result<GuestAddr> Append(const Bytes& table) {
    const GuestAddr at = next_;
    if (table.size() > kOneMiB.value() - at.value()) {
      return OutOfRange("the ACPI tables do not fit below 1 MiB: use fewer CPUs");
    }
    const auto range = TRY(GuestRange::Make(at, table.size()));
    const GuestSpan span = TRY(memory_.At(range));
    span.CopyFrom(table);
    next_ = GuestAddr(AlignUp(range.end().value(), 16));
    return at;
  }

 private:
  const GuestMemory& memory_;
  GuestAddr next_{AlignUp(kAcpiTables.value() + sizeof(Rsdp), 16)};
};

}  // namespace

Result<GuestAddr> WriteTables(const GuestMemory& memory, const Platform& platform) {
  TableArea area(memory);
  const GuestAddr dsdt = TRY(area.Append(MakeDsdt(platform)));
  std::vector<GuestAddr> tables;
  tables.push_back(TRY(area.Append(MakeFadt(platform, dsdt))));
  tables.push_back(TRY(area.Append(MakeMadt(platform))));
  if (!platform.ecam.empty()) tables.push_back(TRY(area.Append(MakeMcfg(platform))));
  const GuestAddr xsdt = TRY(area.Append(MakeXsdt(tables)));

  const Bytes rsdp = MakeRsdp(xsdt);
  const auto range = TRY(GuestRange::Make(kAcpiTables, rsdp.size()));
  const GuestSpan span = TRY(memory.At(range));
  span.CopyFrom(rsdp);
  return kAcpiTables;
}

}  // namespace skiff::x86_64::acpi
