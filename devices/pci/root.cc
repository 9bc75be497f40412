#include "devices/pci/root.h"

#include <algorithm>
#include <utility>

#include "base/arith.h"
#include "base/mutex.h"
#include "devices/pci/bytes.h"
#include "devices/pci/config_space.h"

namespace skiff::pci {
namespace {

// The CPU's side of the bus. Nothing to configure: it is there because systems look for it.
class HostBridge final : public Function {
 public:
  HostBridge() : config_(kIdentity) {}

  std::string_view name() const override { return "PCI host bridge"; }
  void ReadConfig(uint32_t offset, std::span<std::byte> data) override {
    MutexLock lock(mutex_);
    config_.Read(offset, data);
  }
  void WriteConfig(uint32_t offset, std::span<const std::byte> data) override {
    MutexLock lock(mutex_);
    config_.Write(offset, data);
  }
  void Reset() override {
    MutexLock lock(mutex_);
    config_.Reset();
  }

 private:
  // Red Hat's ID of a generic host bridge, for which no system has quirks.
  static constexpr Identity kIdentity{.vendor = 0x1b36,
                                      .device = 0x0008,
                                      .revision = 0,
                                      .class_code = kClassHostBridge,
                                      .subsystem_vendor = 0,
                                      .subsystem = 0};
  Mutex mutex_;
  ConfigSpace config_ GUARDED_BY(mutex_);
};

std::array<uint8_t, kIntxWires> Numbers(const std::array<IntxWire, kIntxWires>& wires) {
  return {wires[0].number, wires[1].number, wires[2].number, wires[3].number};
}

}  // namespace

Root::Root(const MmioSpace& mmio, const std::array<IntxWire, kIntxWires>& wires)
    : mmio_(mmio),
      free_mmio_(mmio.below_4gib),
      lines_{SharedLine(wires[0].line), SharedLine(wires[1].line), SharedLine(wires[2].line),
             SharedLine(wires[3].line)},
      line_numbers_(Numbers(wires)) {
  devices_.push_back({nullptr, std::make_unique<HostBridge>()});
}

Root::~Root() = default;

Result<void> Root::Add(const Maker& make) {
  if (devices_.size() >= kDevicesPerBus) {
    return Error(ErrorCode::kNoSpace,
                 "the PCI bus is full: it has room for 31 devices; use fewer, or larger ones");
  }
  const auto device = static_cast<uint8_t>(devices_.size());
  const uint32_t wire = WireOfDevice(device);
  auto pin = lines_[wire].MakePin();
  const GuestRange free_before = free_mmio_;
  const Slot slot{.address = {.bus = 0, .device = device, .function = 0},
                  .mmio = mmio_,
                  .intx = *pin,
                  .interrupt_line = line_numbers_[wire],
                  .allocate_mmio = [this](uint64_t size) { return AllocateMmio(size); }};
  auto function = make(slot);
  if (!function.ok()) {
    free_mmio_ = free_before;
    return std::move(function).error();
  }
  devices_.push_back({std::move(pin), std::move(*function)});
  return {};
}

void Root::ReadConfig(const ConfigAddress& at, std::span<std::byte> data) const {
  Function* function = Find(at, data.size());
  if (!function) return FillWithOnes(data);
  function->ReadConfig(at.offset, data);
}

void Root::WriteConfig(const ConfigAddress& at, std::span<const std::byte> data) {
  if (Function* function = Find(at, data.size())) function->WriteConfig(at.offset, data);
}

void Root::Reset() {
  for (const Occupant& occupant : devices_) occupant.function->Reset();
}

Result<GuestAddr> Root::AllocateMmio(uint64_t size) {
  const uint64_t start = AlignUp(free_mmio_.start().value(), size);
  auto range = GuestRange::Make(GuestAddr(start), size);
  if (!range.ok() || !free_mmio_.Contains(*range))
    return OutOfRange("the PCI memory window has no room for another device");
  free_mmio_ = free_mmio_.Suffix(range->end().value() - free_mmio_.start().value());
  return range->start();
}

Function* Root::Find(const ConfigAddress& at, size_t size) const {
  if (at.function.bus != 0 || at.function.function != 0) return nullptr;
  if (at.function.device >= devices_.size()) return nullptr;
  // An access must not cross into the next function.
  if (at.offset + size > kFunctionConfigBytes) return nullptr;
  return devices_[at.function.device].function.get();
}

}  // namespace skiff::pci
