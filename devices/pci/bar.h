#pragma once

#include <memory>
#include <optional>

#include "base/position.h"
#include "devices/bus.h"
#include "devices/pci/config_space.h"

namespace skiff::pci {

// Where memory BARs may be: the bus that routes them and the windows that the platform's tables
// promise to PCI. `above_4gib` may be empty.
struct MmioSpace {
  Bus& bus;
  GuestRange below_4gib;
  GuestRange above_4gib;
};

struct BarSpec {
  uint8_t index = 0;
  BarKind kind = BarKind::kMemory32;
  uint64_t size = 0;  // a power of two, 16 or more
};

// One memory BAR: keeps the bus in step with what the guest wrote into its registers. While the
// memory space bit of Command is set and the address lies in a window and on nothing else, the
// device is attached there. Elsewhere the register reads back as written and decodes nothing.
//
// Externally locked, by the lock of `config`. `config` and the bus outlive it.
class Bar {
 public:
  // Composes the registers. `initial_address` is what the BAR holds after reset.
  Bar(const BarSpec& spec, GuestAddr initial_address, ConfigSpace& config, const MmioSpace& space,
      std::shared_ptr<BusDevice> device);
  ~Bar();
  Bar(const Bar&) = delete;
  Bar& operator=(const Bar&) = delete;

  // Call after each change of the registers.
  void Update();

  // Where the guest reaches it now.
  std::optional<GuestAddr> mapped_at() const;
  uint64_t size() const { return spec_.size; }

 private:
  std::optional<BusRange> Wanted() const;
  void Map(const BusRange& range);
  void Unmap();

  const BarSpec spec_;
  ConfigSpace& config_;
  const MmioSpace space_;
  const std::shared_ptr<BusDevice> device_;
  std::optional<BusRange> mapped_;
};

}  // namespace skiff::pci
