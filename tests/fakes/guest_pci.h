#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>

#include "base/endian.h"
#include "devices/bus.h"
#include "devices/guest_events.h"
#include "devices/pci/ecam.h"
#include "devices/pci/port_access.h"
#include "devices/pci/root.h"
#include "tests/fakes/fake_irq.h"

namespace skiff::fakes {

// What a guest sees of a machine with a PCI bus: loads, stores and port accesses. An access that
// nothing answers reads as all-ones, as the machine's exit handler makes it.
class GuestPci {
 public:
  static constexpr uint64_t kWindow = 0xc0000000;
  static constexpr uint64_t kWindowBytes = 0x01000000;
  static constexpr uint64_t kHighWindow = 0x100'0000'0000;
  static constexpr uint64_t kHighWindowBytes = 0x1'0000'0000;
  static constexpr uint64_t kEcam = 0xe0000000;
  static constexpr uint8_t kFirstLineNumber = 16;

  explicit GuestPci(uint64_t window_bytes = kWindowBytes)
      : root_({mmio_, GuestRange::Make(GuestAddr(kWindow), window_bytes).value(),
               GuestRange::Make(GuestAddr(kHighWindow), kHighWindowBytes).value()},
              {pci::IntxWire{wires_[0], kFirstLineNumber},
               pci::IntxWire{wires_[1], kFirstLineNumber + 1},
               pci::IntxWire{wires_[2], kFirstLineNumber + 2},
               pci::IntxWire{wires_[3], kFirstLineNumber + 3}}),
        ecam_(std::make_shared<pci::Ecam>(root_)),
        port_access_(std::make_shared<pci::PortAccess>(root_, events_)) {
    attached_ =
        mmio_.Attach(Place(kEcam, pci::Ecam::kBytes), ecam_).ok() &&
        ports_.Attach(Place(pci::PortAccess::kFirstPort, pci::PortAccess::kPorts), port_access_)
            .ok();
  }

  bool attached() const { return attached_; }
  Bus& mmio() { return mmio_; }
  pci::Root& root() { return root_; }
  FakeIrqLine& wire(size_t index) { return wires_[index]; }
  int resets() const { return events_.resets; }

  static BusRange Place(uint64_t start, uint64_t length) {
    return BusRange::Make(Position<BusSpace>(start), length).value();
  }

  uint64_t Load(uint64_t address, size_t size) { return Get(mmio_, address, size); }
  void Store(uint64_t address, size_t size, uint64_t value) { Put(mmio_, address, size, value); }
  uint64_t In(uint16_t port, size_t size) { return Get(ports_, port, size); }
  void Out(uint16_t port, size_t size, uint64_t value) { Put(ports_, port, size, value); }

  // Configuration space of 00:<device>.0 by ECAM.
  static uint64_t ConfigAddress(uint8_t device, uint32_t offset) {
    return kEcam + (uint64_t{device} << 15) + offset;
  }
  uint64_t Config(uint8_t device, uint32_t offset, size_t size) {
    return Load(ConfigAddress(device, offset), size);
  }
  void SetConfig(uint8_t device, uint32_t offset, size_t size, uint64_t value) {
    Store(ConfigAddress(device, offset), size, value);
  }

  // The same by the ports.
  uint64_t PortConfig(uint8_t device, uint32_t offset, size_t size) {
    Out(0xcf8, 4, 0x80000000 | uint32_t{device} << 11 | (offset & 0xfc));
    return In(static_cast<uint16_t>(0xcfc + offset % 4), size);
  }
  void SetPortConfig(uint8_t device, uint32_t offset, size_t size, uint64_t value) {
    Out(0xcf8, 4, 0x80000000 | uint32_t{device} << 11 | (offset & 0xfc));
    Out(static_cast<uint16_t>(0xcfc + offset % 4), size, value);
  }

  // The first capability at or behind `from` (a capability's offset or 0) with this ID; 0: none.
  uint8_t FindCapability(uint8_t device, uint8_t id, uint8_t from = 0) {
    uint8_t at = from != 0 ? from : static_cast<uint8_t>(Config(device, 0x34, 1));
    for (int steps = 0; at != 0 && steps < 48; ++steps) {
      if (Config(device, at, 1) == id) return at;
      at = static_cast<uint8_t>(Config(device, at + 1u, 1));
    }
    return 0;
  }

 private:
  static uint64_t Get(Bus& bus, uint64_t address, size_t size) {
    std::array<std::byte, 8> bytes{};
    const auto data = std::span(bytes).first(size);
    if (!bus.Read(address, data)) std::fill(data.begin(), data.end(), std::byte{0xff});
    return std::bit_cast<Le64>(bytes);
  }
  static void Put(Bus& bus, uint64_t address, size_t size, uint64_t value) {
    const auto bytes = std::bit_cast<std::array<std::byte, 8>>(Le64(value));
    bus.Write(address, std::span(bytes).first(size));
  }

  struct Events final : GuestEvents {
    void OnGuestEvent(GuestEvent event) override { resets += event == GuestEvent::kReset; }
    int resets = 0;
  };

  Events events_;
  std::array<FakeIrqLine, pci::kIntxWires> wires_;
  Bus mmio_;
  Bus ports_;
  pci::Root root_;
  std::shared_ptr<pci::Ecam> ecam_;
  std::shared_ptr<pci::PortAccess> port_access_;
  bool attached_ = false;
};

}  // namespace skiff::fakes
