#include "devices/pci/bar.h"

#include <string>

#include "base/log.h"

namespace skiff::pci {
namespace {

bool InsideWindow(const MmioSpace& space, const BusRange& range) {
  const auto placed = GuestRange::Make(GuestAddr(range.start().value()), range.length());
  return placed.ok() && (space.below_4gib.Contains(*placed) || space.above_4gib.Contains(*placed));
}

void LogRefusal(std::string_view device, std::string_view why) {
  static LimitedLog log;
  log.Warning(std::string(device).append(": PCI BAR not mapped: ").append(why));
}

}  // namespace

Bar::Bar(const BarSpec& spec, GuestAddr initial_address, ConfigSpace& config,
         const MmioSpace& space, std::shared_ptr<BusDevice> device)
    : spec_(spec), config_(config), space_(space), device_(std::move(device)) {
  config_.AddBar(spec.index, spec.kind, spec.size, initial_address.value());
}

Bar::~Bar() { Unmap(); }

void Bar::Update() {
  const std::optional<BusRange> wanted = Wanted();
  if (wanted && mapped_ && wanted->start() == mapped_->start()) return;
  Unmap();
  if (wanted) Map(*wanted);
}

std::optional<GuestAddr> Bar::mapped_at() const {
  if (!mapped_) return std::nullopt;
  return GuestAddr(mapped_->start().value());
}

std::optional<BusRange> Bar::Wanted() const {
  if (!(config_.command() & kCommandMemorySpace)) return std::nullopt;
  const uint64_t address = config_.BarAddress(spec_.index, spec_.kind);
  // All writable bits set, in the low register at least: the guest asks for the size with
  // decoding enabled (PCI 3.0, 6.2.5.1 "Address Maps" lets it, at its own risk).
  const uint32_t low_mask = static_cast<uint32_t>(~(spec_.size - 1));
  if ((address & low_mask) == low_mask) return std::nullopt;
  auto range = BusRange::Make(Position<BusSpace>(address), spec_.size);
  if (!range.ok()) return std::nullopt;
  return *range;
}

void Bar::Map(const BusRange& range) {
  if (!InsideWindow(space_, range)) return LogRefusal(device_->name(), "outside the PCI window");
  auto attached = space_.bus.Attach(range, device_);
  if (!attached.ok()) return LogRefusal(device_->name(), attached.error().message());
  mapped_ = range;
}

void Bar::Unmap() {
  if (mapped_) space_.bus.Detach(*mapped_);
  mapped_.reset();
}

}  // namespace skiff::pci
