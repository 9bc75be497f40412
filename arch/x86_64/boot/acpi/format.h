#pragma once

#include <array>
#include <cstdint>

#include "base/endian.h"

// ACPI's tables as they lie in memory: ACPI 6.4, 5.2 "ACPI System Description Tables". Field names
// are that section's.
namespace skiff::x86_64::acpi {

template <size_t kLength>
using Text = std::array<char, kLength>;

// 5.2.5.3 "Root System Description Pointer (RSDP) Structure"
struct Rsdp {
  Text<8> Signature = {'R', 'S', 'D', ' ', 'P', 'T', 'R', ' '};
  uint8_t Checksum = 0;  // over the first 20 bytes
  Text<6> OemId;
  uint8_t Revision = 2;
  Le32 RsdtAddress;
  Le32 Length = sizeof(Rsdp);
  Le64 XsdtAddress;
  uint8_t ExtendedChecksum = 0;
  std::array<uint8_t, 3> Reserved{};
};
static_assert(sizeof(Rsdp) == 36);
inline constexpr size_t kRsdpFirstPartBytes = 20;

// 5.2.6 "System Description Table Header"
struct TableHeader {
  Text<4> Signature;
  Le32 Length;
  uint8_t Revision;
  uint8_t Checksum;
  Text<6> OemId;
  Text<8> OemTableId;
  Le32 OemRevision;
  Text<4> CreatorId;
  Le32 CreatorRevision;
};
static_assert(sizeof(TableHeader) == 36);

// 5.2.3.2 "Generic Address Structure"
struct GenericAddress {
  uint8_t AddressSpaceId;
  uint8_t RegisterBitWidth;
  uint8_t RegisterBitOffset;
  uint8_t AccessSize;
  Le64 Address;
};
static_assert(sizeof(GenericAddress) == 12);
inline constexpr uint8_t kSystemIo = 1;
inline constexpr uint8_t kByteAccess = 1;

// 5.2.9 "Fixed ACPI Description Table (FADT)", without the header
struct FadtBody {
  Le32 FIRMWARE_CTRL;
  Le32 DSDT;
  uint8_t Reserved0;
  uint8_t Preferred_PM_Profile;
  Le16 SCI_INT;
  Le32 SMI_CMD;
  std::array<uint8_t, 4> ACPI_ENABLE_to_PSTATE_CNT;
  std::array<Le32, 8> PM1a_EVT_BLK_to_GPE1_BLK;
  std::array<uint8_t, 8> PM1_EVT_LEN_to_CST_CNT;
  Le16 P_LVL2_LAT;
  Le16 P_LVL3_LAT;
  std::array<uint8_t, 8> FLUSH_SIZE_to_MON_ALRM;
  uint8_t CENTURY;
  Le16 IAPC_BOOT_ARCH;
  uint8_t Reserved1;
  Le32 Flags;
  GenericAddress RESET_REG;
  uint8_t RESET_VALUE;
  Le16 ARM_BOOT_ARCH;
  uint8_t FADT_Minor_Version;
  Le64 X_FIRMWARE_CTRL;
  Le64 X_DSDT;
  std::array<GenericAddress, 8> X_PM1a_EVT_BLK_to_X_GPE1_BLK;
  GenericAddress SLEEP_CONTROL_REG;
  GenericAddress SLEEP_STATUS_REG;
  Text<8> HypervisorVendorIdentity;
};
static_assert(sizeof(FadtBody) == 276 - sizeof(TableHeader));

inline constexpr uint8_t kFadtRevision = 6;
inline constexpr uint8_t kFadtMinorRevision = 4;

// FADT Flags, table 5.10
inline constexpr uint32_t kWbinvd = 1 << 0;
inline constexpr uint32_t kNoFixedPowerButton = 1 << 4;
inline constexpr uint32_t kNoFixedSleepButton = 1 << 5;
inline constexpr uint32_t kResetRegisterSupported = 1 << 10;
inline constexpr uint32_t kHeadless = 1 << 12;
inline constexpr uint32_t kHardwareReduced = 1 << 20;

// FADT IAPC_BOOT_ARCH, table 5.11. Neither "legacy devices" nor "8042": nothing to probe for.
inline constexpr uint16_t kVgaNotPresent = 1 << 2;
inline constexpr uint16_t kNoAspmControls = 1 << 4;
inline constexpr uint16_t kCmosRtcNotPresent = 1 << 5;

// 5.2.12 "Multiple APIC Description Table (MADT)", without the header
struct MadtBody {
  Le32 LocalInterruptControllerAddress;
  Le32 Flags;
};
static_assert(sizeof(MadtBody) == 8);
inline constexpr uint8_t kMadtRevision = 5;
inline constexpr uint32_t kPcatCompatible = 1;  // there are two 8259s too

inline constexpr uint32_t kProcessorEnabled = 1;

struct LocalApic {
  uint8_t Type = 0;
  uint8_t Length = 8;
  uint8_t AcpiProcessorUid;
  uint8_t ApicId;
  Le32 Flags;
};
static_assert(sizeof(LocalApic) == 8);

struct IoApic {
  uint8_t Type = 1;
  uint8_t Length = 12;
  uint8_t IoApicId;
  uint8_t Reserved = 0;
  Le32 IoApicAddress;
  Le32 GlobalSystemInterruptBase;
};
static_assert(sizeof(IoApic) == 12);

struct InterruptSourceOverride {
  uint8_t Type = 2;
  uint8_t Length = 10;
  uint8_t Bus = 0;  // ISA
  uint8_t Source;
  Le32 GlobalSystemInterrupt;
  Le16 Flags;  // 0: as the bus has it
};
static_assert(sizeof(InterruptSourceOverride) == 10);

struct LocalApicNmi {
  uint8_t Type = 4;
  uint8_t Length = 6;
  uint8_t AcpiProcessorUid = 0xff;  // all
  Le16 Flags;
  uint8_t LocalApicLint = 1;
};
static_assert(sizeof(LocalApicNmi) == 6);

struct LocalX2Apic {
  uint8_t Type = 9;
  uint8_t Length = 16;
  Le16 Reserved;
  Le32 X2ApicId;
  Le32 Flags;
  Le32 AcpiProcessorUid;
};
static_assert(sizeof(LocalX2Apic) == 16);

struct LocalX2ApicNmi {
  uint8_t Type = 10;
  uint8_t Length = 12;
  Le16 Flags;
  Le32 AcpiProcessorUid = UINT32_MAX;  // all
  uint8_t LocalX2ApicLint = 1;
  std::array<uint8_t, 3> Reserved{};
};
static_assert(sizeof(LocalX2ApicNmi) == 12);

// PCI Firmware Specification 3.2, 4.1.2 "MCFG Table Description", with one range, without the
// header
struct McfgBody {
  Le64 Reserved0;
  Le64 BaseAddress;
  Le16 PciSegmentGroup;
  uint8_t StartBusNumber;
  uint8_t EndBusNumber;
  Le32 Reserved1;
};
static_assert(sizeof(McfgBody) == 24);

}  // namespace skiff::x86_64::acpi
