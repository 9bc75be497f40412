#pragma once

#include <atomic>
#include <cstdint>

#include "devices/bus.h"
#include "devices/pci/root.h"

namespace skiff::pci {

// Configuration mechanism #1 (PCI 3.0, 3.2.2.3.2): CONFIG_ADDRESS at port 0xCF8 and CONFIG_DATA at
// 0xCFC. Two exits per access, and the pair is not atomic: guests lock it, and what two unlocked
// vCPUs do to each other is theirs.
class PortAccess final : public BusDevice {
 public:
  static constexpr uint64_t kFirstPort = kAddressPort;
  static constexpr uint64_t kPorts = 8;

  explicit PortAccess(Root& root) : root_(root) {}  // outlives it

  std::string_view name() const override { return "PCI configuration ports"; }
  void Read(uint64_t offset, std::span<std::byte> data) override;
  void Write(uint64_t offset, std::span<const std::byte> data) override;

  void Reset() { address_.store(0); }

 private:
  Root& root_;
  std::atomic<uint32_t> address_{0};
};

}  // namespace skiff::pci
