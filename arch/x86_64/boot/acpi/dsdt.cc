#include "arch/x86_64/boot/acpi/dsdt.h"

#include "arch/x86_64/boot/acpi/resources.h"
#include "devices/legacy/acpi_ports.h"
#include "devices/legacy/pvpanic.h"
#include "devices/legacy/rtc_mc146818_registers.h"

namespace skiff::x86_64::acpi {

namespace {

constexpr uint32_t kPciSlots = 32;
constexpr uint32_t kPciPins = 4;
constexpr uint16_t kPciConfigPort = 0xcf8;
constexpr uint8_t kPciConfigPorts = 8;

// ACPI 6.4, 6.2.13 "_PRT (PCI Routing Table)": address (all functions of the slot), pin, and,
// after a zero instead of a link device, the GSI.
aml::Data InterruptRouting(const Platform& platform) {
  std::vector<aml::Data> routes;
  for (uint32_t slot = 0; slot < kPciSlots; ++slot) {
    for (uint32_t pin = 0; pin < kPciPins; ++pin) {
      const uint8_t gsi = platform.intx_gsis[IntxWire(slot, pin)];
      routes.push_back(aml::Package({aml::Integer(slot << 16 | 0xffff), aml::Integer(pin),
                                     aml::Integer(0), aml::Integer(gsi)}));
    }
  }
  return aml::Package(routes);
}

aml::Data RootResources(const Platform& platform) {
  std::vector<aml::Resource> resources = {aml::BusNumbers(0, 0),
                                          aml::Ports(kPciConfigPort, kPciConfigPorts)};
  if (platform.io_window_length != 0) {
    resources.push_back(aml::PortWindow(platform.io_window_start, platform.io_window_length));
  }
  if (!platform.mmio_window.empty()) {
    resources.push_back(aml::MemoryWindow32(platform.mmio_window));
  }
  if (!platform.mmio64_window.empty()) {
    resources.push_back(aml::MemoryWindow64(platform.mmio64_window));
  }
  return aml::ResourceTemplate(resources);
}

aml::Term PciRoot(const Platform& platform) {
  return aml::Device("PCI0", {
                                 aml::Name("_HID", aml::Id("PNP0A08")),  // PCI Express
                                 aml::Name("_CID", aml::Id("PNP0A03")),  // PCI
                                 aml::Name("_UID", aml::Integer(0)),
                                 aml::Name("_SEG", aml::Integer(0)),
                                 aml::Name("_BBN", aml::Integer(0)),
                                 aml::Name("_CRS", RootResources(platform)),
                                 aml::Name("_PRT", InterruptRouting(platform)),
                             });
}

// Without this device Linux takes the MCFG table for a firmware bug and ignores it.
aml::Term ReservedResources(const Platform& platform) {
  std::vector<aml::Resource> resources = {aml::Ports(kAcpiPortBase, kAcpiPorts)};
  if (!platform.ecam.empty()) resources.push_back(aml::FixedMemory(platform.ecam));
  return aml::Device("MBRD", {
                                 aml::Name("_HID", aml::Id("PNP0C02")),
                                 aml::Name("_UID", aml::Integer(0)),
                                 aml::Name("_CRS", aml::ResourceTemplate(resources)),
                             });
}

aml::Term Serial() {
  return aml::Device(
      "COM1", {
                  aml::Name("_HID", aml::Id("PNP0501")),
                  aml::Name("_UID", aml::Integer(0)),
                  aml::Name("_CRS", aml::ResourceTemplate({aml::Ports(0x3f8, 8), aml::IsaIrq(4)})),
              });
}

aml::Term Rtc() {
  return aml::Device(
      "RTC0", {
                  aml::Name("_HID", aml::Id("PNP0B00")),
                  aml::Name("_CRS", aml::ResourceTemplate(
                                        {aml::Ports(kRtcPortBase, kRtcPorts), aml::IsaIrq(8)})),
              });
}

aml::Term Pvpanic() {
  return aml::Device(
      "PEVT",
      {
          aml::Name("_HID", aml::String("QEMU0001")),
          aml::Name("_CRS", aml::ResourceTemplate({aml::Ports(kPvpanicPort, kPvpanicPorts)})),
      });
}

// ACPI 6.4, 7.4.2 "\_Sx (System States)": the value for the sleep control register, then three
// that hardware-reduced systems do not use.
aml::Term PowerOffState() {
  return aml::Name("_S5_", aml::Package({aml::Integer(kAcpiSleepTypeS5), aml::Integer(0),
                                         aml::Integer(0), aml::Integer(0)}));
}

}  // namespace

std::vector<aml::Term> DescribeDevices(const Platform& platform) {
  std::vector<aml::Term> devices = {PciRoot(platform), ReservedResources(platform)};
  if (platform.has_serial) devices.push_back(Serial());
  if (platform.has_rtc) devices.push_back(Rtc());
  if (platform.has_pvpanic) devices.push_back(Pvpanic());
  return {aml::Scope("_SB_", devices), PowerOffState()};
}

}  // namespace skiff::x86_64::acpi
