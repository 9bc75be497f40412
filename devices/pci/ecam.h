#pragma once

#include "devices/bus.h"
#include "devices/pci/root.h"

namespace skiff::pci {

// Bus 0 of the memory-mapped configuration space (PCI Express 3.0, 7.2.2): 4 KiB for each
// function. One exit per access, where the ports need two.
class Ecam final : public BusDevice {
 public:
  static constexpr uint64_t kBytes = uint64_t{1} << 20;

  explicit Ecam(Root& root) : root_(root) {}  // outlives it

  std::string_view name() const override { return "PCI ECAM"; }
  void Read(uint64_t offset, std::span<std::byte> data) override {
    root_.ReadConfig(ConfigAddress::FromEcamOffset(offset), data);
  }
  void Write(uint64_t offset, std::span<const std::byte> data) override {
    root_.WriteConfig(ConfigAddress::FromEcamOffset(offset), data);
  }

 private:
  Root& root_;
};

}  // namespace skiff::pci
