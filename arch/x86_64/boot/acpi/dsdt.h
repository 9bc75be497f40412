#pragma once

#include <vector>

#include "arch/x86_64/boot/acpi/aml.h"
#include "arch/x86_64/boot/platform.h"

namespace skiff::x86_64::acpi {

// What the DSDT defines: the PCI root with its windows and interrupt wires, the devices that
// cannot be probed for, and the power-off state S5.
std::vector<aml::Term> DescribeDevices(const Platform& platform);

}  // namespace skiff::x86_64::acpi
