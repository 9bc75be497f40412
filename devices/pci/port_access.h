#pragma once

#include <atomic>
#include <cstdint>

#include "devices/bus.h"
#include "devices/guest_events.h"
#include "devices/pci/root.h"

namespace skiff::pci {

// Configuration mechanism #1 (PCI 3.0, 3.2.2.3.2): CONFIG_ADDRESS at port 0xCF8 and CONFIG_DATA at
// 0xCFC. Two exits per access, and the pair is not atomic: guests lock it, and what two unlocked
// vCPUs do to each other is theirs.
//
// Between the two lies what chipsets put there, the reset control register at port 0xCF9, one
// byte (Intel ICH, "RST_CNT"): a guest that resets by it (Linux: reboot=pci) sets RST_CPU.
class PortAccess final : public BusDevice {
 public:
  static constexpr uint64_t kFirstPort = kAddressPort;
  static constexpr uint64_t kPorts = 8;

  // Both outlive it.
  PortAccess(Root& root, GuestEvents& events) : root_(root), events_(events) {}

  std::string_view name() const override { return "PCI configuration ports"; }
  void Read(uint64_t offset, std::span<std::byte> data) override;
  void Write(uint64_t offset, std::span<const std::byte> data) override;

  void Reset() {
    address_.store(0);
    reset_control_.store(0);
  }

 private:
  void WriteResetControl(uint8_t value);

  Root& root_;
  GuestEvents& events_;
  std::atomic<uint32_t> address_{0};
  std::atomic<uint8_t> reset_control_{0};
};

}  // namespace skiff::pci
