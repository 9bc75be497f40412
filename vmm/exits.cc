#include "vmm/exits.h"

#include <algorithm>
#include <bit>

#include "base/overloaded.h"

namespace skiff {
namespace {

void Access(Bus& bus, uint64_t address, bool is_write, std::span<std::byte> data) {
  if (is_write) {
    bus.Write(address, data);
  } else if (!bus.Read(address, data)) {
    std::fill(data.begin(), data.end(), std::byte{0xff});
  }
}

// KVM reports an access that crosses a page as what is left of it, 3 bytes say; devices know 1, 2,
// 4 and 8 only, so it arrives as the largest of these, one after the other.
void HandleMmio(const kvm::MmioExit& exit, Bus& mmio) {
  for (size_t done = 0; done < exit.data.size();) {
    const size_t width = std::bit_floor(exit.data.size() - done);
    Access(mmio, exit.address + done, exit.is_write, exit.data.subspan(done, width));
    done += width;
  }
}

// A string instruction's accesses come as one exit.
void HandlePort(const kvm::PortExit& exit, Bus& ports) {
  for (uint32_t i = 0; i < exit.count; ++i)
    Access(ports, exit.port, exit.is_write, exit.data.subspan(size_t{i} * exit.width, exit.width));
}

Outcome Failed() { return {EndReason::kHostError, 0, {}}; }

}  // namespace

std::optional<Outcome> HandleExit(const kvm::Exit& exit, Bus& ports, Bus& mmio) {
  using Answer = std::optional<Outcome>;
  return std::visit(Overloaded{
                        [&](const kvm::PortExit& port) -> Answer {
                          HandlePort(port, ports);
                          return std::nullopt;
                        },
                        [&](const kvm::MmioExit& access) -> Answer {
                          HandleMmio(access, mmio);
                          return std::nullopt;
                        },
                        [](const kvm::InterruptedExit&) -> Answer { return std::nullopt; },
                        [](const kvm::HaltExit&) -> Answer {
                          return Outcome{EndReason::kHalted, 0, {}};
                        },
                        [](const kvm::ShutdownExit&) -> Answer {
                          return Outcome{EndReason::kTripleFault, 0, {}};
                        },
                        [](const kvm::SystemEventExit&) -> Answer { return Failed(); },
                        [](const kvm::InternalErrorExit&) -> Answer { return Failed(); },
                        [](const kvm::FailEntryExit&) -> Answer { return Failed(); },
                        [](const kvm::HostErrorExit&) -> Answer { return Failed(); },
                        [](const kvm::UnknownExit&) -> Answer { return Failed(); },
                    },
                    exit);
}

}  // namespace skiff
