#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "base/result.h"
#include "devices/pci/address.h"
#include "devices/pci/function.h"
#include "devices/pci/intx.h"

namespace skiff::pci {

// One wire to the interrupt controller. `number` is what firmware would leave in the Interrupt
// Line registers: the global system interrupt, as in the platform's tables.
struct IntxWire {
  IrqLine& line;
  uint8_t number;
};

inline constexpr uint32_t kIntxWires = 4;

// The wire that INTA# of a device pulls (PCI 3.0, 2.2.6: the usual rotation). The platform's tables
// must say the same. All our functions use INTA#.
constexpr uint32_t WireOfDevice(uint8_t device) { return device % kIntxWires; }

// PCI bus 0: a host bridge at 00:00.0 and up to 31 single-function devices behind it. No bridges,
// so no other bus exists.
//
// Composed (Add) by one thread before the guest runs, then thread-safe. The bus, the wires and
// whatever the functions use outlive it; destroying it takes all BARs off the bus.
class Root {
 public:
  Root(const MmioSpace& mmio, const std::array<IntxWire, kIntxWires>& wires);
  ~Root();
  Root(const Root&) = delete;
  Root& operator=(const Root&) = delete;

  // Puts the function that `make` builds for the next free slot there. kNoSpace when all 31 are
  // taken; else `make`'s error, and nothing has changed.
  using Maker = std::function<Result<std::unique_ptr<Function>>(const Slot&)>;
  Result<void> Add(const Maker& make);

  // Any access of at most 8 bytes. Functions that do not exist read as all-ones.
  void ReadConfig(const ConfigAddress& at, std::span<std::byte> data) const;
  void WriteConfig(const ConfigAddress& at, std::span<const std::byte> data);

  // All functions as after construction. No vCPU runs.
  void Reset();

 private:
  struct Occupant {
    std::unique_ptr<IrqLine> pin;
    std::unique_ptr<Function> function;  // goes before its pin
  };

  Result<GuestAddr> AllocateMmio(uint64_t size);
  Function* Find(const ConfigAddress& at, size_t size) const;

  const MmioSpace mmio_;
  GuestRange free_mmio_;  // what no BAR was given yet
  std::array<SharedLine, kIntxWires> lines_;
  const std::array<uint8_t, kIntxWires> line_numbers_;
  std::vector<Occupant> devices_;  // by device number, each with function 0 only
};

}  // namespace skiff::pci
