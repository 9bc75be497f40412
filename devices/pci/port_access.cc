#include "devices/pci/port_access.h"

#include <algorithm>
#include <bit>

#include "devices/pci/bytes.h"

namespace skiff::pci {
namespace {

constexpr uint64_t kDataOffset = kDataPort - kAddressPort;

// The register decodes dword accesses only; narrower ones are for whatever else is there.
bool IsAddressRegister(uint64_t offset, size_t size) { return offset == 0 && size == 4; }

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
  if (!IsData(offset, data.size()) || !(address & kAddressEnable)) return;
  const auto byte = static_cast<uint32_t>(offset - kDataOffset);
  root_.ReadConfig(ConfigAddress::FromAddressRegister(address, byte), data);
}

void PortAccess::Write(uint64_t offset, std::span<const std::byte> data) {
  if (IsAddressRegister(offset, data.size())) {
    address_.store(static_cast<uint32_t>(ToValue(data)) & kAddressWritable);
    return;
  }
  const uint32_t address = address_.load();
  if (!IsData(offset, data.size()) || !(address & kAddressEnable)) return;
  const auto byte = static_cast<uint32_t>(offset - kDataOffset);
  root_.WriteConfig(ConfigAddress::FromAddressRegister(address, byte), data);
}

}  // namespace skiff::pci
