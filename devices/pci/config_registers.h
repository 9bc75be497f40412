#pragma once

#include <cstdint>

namespace skiff::pci {

// Names, offsets and bits: PCI 3.0, 6.1 "Configuration Space Organization" and 6.2
// "Configuration Space Functions" (type 0 header).
inline constexpr uint32_t kVendorId = 0x00;
inline constexpr uint32_t kDeviceId = 0x02;
inline constexpr uint32_t kCommand = 0x04;
inline constexpr uint32_t kStatus = 0x06;
inline constexpr uint32_t kRevisionId = 0x08;
inline constexpr uint32_t kClassCode = 0x09;  // three bytes: interface, sub-class, base class
inline constexpr uint32_t kCacheLineSize = 0x0c;
inline constexpr uint32_t kLatencyTimer = 0x0d;
inline constexpr uint32_t kHeaderType = 0x0e;
inline constexpr uint32_t kBar0 = 0x10;
inline constexpr uint32_t kBarCount = 6;
inline constexpr uint32_t kSubsystemVendorId = 0x2c;
inline constexpr uint32_t kSubsystemId = 0x2e;
inline constexpr uint32_t kExpansionRom = 0x30;
inline constexpr uint32_t kCapabilitiesPointer = 0x34;
inline constexpr uint32_t kInterruptLine = 0x3c;
inline constexpr uint32_t kInterruptPin = 0x3d;
inline constexpr uint32_t kHeaderEnd = 0x40;
inline constexpr uint32_t kConfigSpaceEnd = 0x100;  // of a conventional function

inline constexpr uint16_t kNoVendor = 0xffff;  // read where no function is

// Command register (6.2.2).
inline constexpr uint16_t kCommandMemorySpace = 1 << 1;
inline constexpr uint16_t kCommandBusMaster = 1 << 2;
inline constexpr uint16_t kCommandInterruptDisable = 1 << 10;

// Status register (6.2.3).
inline constexpr uint16_t kStatusInterrupt = 1 << 3;
inline constexpr uint16_t kStatusCapabilitiesList = 1 << 4;

// Base address registers (6.2.5.1).
inline constexpr uint32_t kBarMemory64 = 2 << 1;
inline constexpr uint32_t kBarMemoryAddressMask = 0xfffffff0;

// Interrupt pin (6.2.4).
inline constexpr uint8_t kPinNone = 0;
inline constexpr uint8_t kPinIntA = 1;

// Class codes (Appendix D), base class first.
inline constexpr uint32_t kClassHostBridge = 0x060000;

// Capability IDs (Appendix H).
enum class CapabilityId : uint8_t {
  kVendorSpecific = 0x09,
  kMsix = 0x11,
};

// MSI-X capability and table (6.8.2 "MSI-X Capability and Table Structures").
inline constexpr uint8_t kMsixControl = 0x02;  // from the start of the capability
inline constexpr uint16_t kMsixControlTableSizeMask = 0x07ff;
inline constexpr uint16_t kMsixControlFunctionMask = 1 << 14;
inline constexpr uint16_t kMsixControlEnable = 1 << 15;
inline constexpr uint32_t kMsixEntryBytes = 16;
inline constexpr uint32_t kMsixEntryAddressLow = 0;
inline constexpr uint32_t kMsixEntryAddressHigh = 4;
inline constexpr uint32_t kMsixEntryData = 8;
inline constexpr uint32_t kMsixEntryVectorControl = 12;
inline constexpr uint32_t kMsixVectorControlMask = 1;

// Configuration mechanism #1 (3.2.2.3.2).
inline constexpr uint16_t kAddressPort = 0xcf8;
inline constexpr uint16_t kDataPort = 0xcfc;
inline constexpr uint32_t kAddressEnable = uint32_t{1} << 31;
inline constexpr uint32_t kAddressWritable = 0x80fffffc;

}  // namespace skiff::pci
