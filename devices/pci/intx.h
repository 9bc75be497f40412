#pragma once

#include <cstdint>
#include <memory>

#include "base/mutex.h"
#include "devices/irq.h"

namespace skiff::pci {

// An interrupt line that several functions pull (PCI 3.0, 2.2.6: INTx# is open drain). The line is
// up while at least one pin is. Thread-safe; outlives its pins.
class SharedLine {
 public:
  explicit SharedLine(IrqLine& line) : line_(line) {}
  SharedLine(const SharedLine&) = delete;
  SharedLine& operator=(const SharedLine&) = delete;

  // One function's pin. Lowered by its destructor.
  std::unique_ptr<IrqLine> MakePin();

 private:
  class Pin;

  IrqLine& line_;
  Mutex mutex_;  // held across line_'s calls, which would else overtake each other
  uint32_t raised_ GUARDED_BY(mutex_) = 0;
};

}  // namespace skiff::pci
