#include "devices/pci/port_access.h"

#include <algorithm>
#include <bit>

#include "devices/pci/bytes.h"

namespace skiff::pci {
namespace {

constexpr uint64_t kDataOffset = kDataPort - kAddressPort;

// The register decodes dword accesses only; narrower ones are for whatever else is there.
bool IsAddressRegister(uint64_t offset, size_t size) { return offset == 0 && size == 4; }

bool IsResetControl(uint64_t offset, size_t size) { return offset == 1 && size == 1; }

constexpr uint8_t kRstCpu = 1 << 2;  // a rise from 0 to 1 resets
constexpr uint8_t kResetControlWritable = 0x0e;

bool IsData(uint64_t offset, size_t size) {
  return offset >= kDataOffset && offset + size <= PortAccess::kPorts;
}

}  // namespace

void PortAccess::Read(uint64_t offset, std::span<std::byte> data) {
  FillWithOnes(data);
  const uint32_t address = address_.load();
  if (IsAddressRegister(offset, data.size())) {
    const auto bytes = std::bit_cast<std::array<std::byte, 4>>(Le32(address));
    std::copy(bytes.begin(), bytes.end(), data.begin());
    return;
  }
  if (IsResetControl(offset, data.size())) data[0] = std::byte{reset_control_.load()};
  if (!IsData(offset, data.size()) || !(address & kAddressEnable)) return;
  const auto byte = static_cast<uint32_t>(offset - kDataOffset);
  root_.ReadConfig(ConfigAddress::FromAddressRegister(address, byte), data);
}

void PortAccess::Write(uint64_t offset, std::span<const std::byte> data) {
  if (IsAddressRegister(offset, data.size())) {
    address_.store(static_cast<uint32_t>(ToValue(data)) & kAddressWritable);
    return;
  }
  if (IsResetControl(offset, data.size()))
    return WriteResetControl(std::to_integer<uint8_t>(data[0]));
  const uint32_t address = address_.load();
  if (!IsData(offset, data.size()) || !(address & kAddressEnable)) return;
  const auto byte = static_cast<uint32_t>(offset - kDataOffset);
  root_.WriteConfig(ConfigAddress::FromAddressRegister(address, byte), data);
}

void PortAccess::WriteResetControl(uint8_t value) {
  const uint8_t before = reset_control_.exchange(value & kResetControlWritable);
  if (!(before & kRstCpu) && (value & kRstCpu)) events_.OnGuestEvent(GuestEvent::kReset);
}

}  // namespace skiff::pci
