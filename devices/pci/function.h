#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string_view>

#include "devices/irq.h"
#include "devices/pci/address.h"
#include "devices/pci/bar.h"

namespace skiff::pci {

// What the bus sees of a function. Config accesses arrive from every vCPU thread at once; each
// function locks its own state, and attaches and detaches its own BARs, the last time in its
// destructor.
class Function {
 public:
  virtual ~Function() = default;
  virtual std::string_view name() const = 0;

  // Up to 8 bytes of any alignment; offset + data.size() <= kFunctionConfigBytes. What the
  // function does not have reads as 0, or as all-ones above its configuration space.
  virtual void ReadConfig(uint32_t offset, std::span<std::byte> data) = 0;
  virtual void WriteConfig(uint32_t offset, std::span<const std::byte> data) = 0;

  // The machine was reset: everything as after construction. No vCPU runs.
  virtual void Reset() = 0;
};

// The place of a function and all that the bus gives it. Its parts outlive the function.
struct Slot {
  Address address;
  MmioSpace mmio;
  IrqLine& intx;           // its INTA# pin, its own to raise and lower
  uint8_t interrupt_line;  // initial value of the Interrupt Line register

  // A place for a BAR of `size` bytes (a power of two), which no other BAR was given. kOutOfRange
  // when the window below 4 GiB is full.
  std::function<Result<GuestAddr>(uint64_t size)> allocate_mmio;
};

}  // namespace skiff::pci
