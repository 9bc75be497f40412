#include "arch/kvm/msi_routes.h"

#include <cstring>

#include "arch/kvm/kvm.h"
#include "base/log.h"

namespace skiff::kvm {

namespace {

bool SameMessage(const MsiMessage& a, const MsiMessage& b) {
  return a.address == b.address && a.data == b.data;
}

kvm_irq_routing_entry MsiEntry(uint32_t gsi, const MsiMessage& message) {
  kvm_irq_routing_entry entry{};
  entry.gsi = gsi;
  entry.type = KVM_IRQ_ROUTING_MSI;
  entry.u.msi.address_lo = static_cast<uint32_t>(message.address);
  entry.u.msi.address_hi = static_cast<uint32_t>(message.address >> 32);
  entry.u.msi.data = message.data;
  return entry;
}

// Makes a signal of `event_fd` an interrupt on `gsi`, or ends that.
Result<void> ConnectIrqfd(int vm_fd, uint32_t gsi, int event_fd, uint32_t flags) {
  kvm_irqfd irqfd{};
  irqfd.fd = static_cast<uint32_t>(event_fd);
  irqfd.gsi = gsi;
  irqfd.flags = flags;
  TRY(Call(vm_fd, KVM_IRQFD, "KVM_IRQFD", &irqfd));
  return {};
}

}  // namespace

// Owns one GSI and the eventfd that KVM watches for it. Without a route in the table KVM drops
// what the eventfd signals.
class MsiRoutes::Interrupt final : public MsiInterrupt {
 public:
  Interrupt(MsiRoutes& routes, uint32_t gsi, EventFd event)
      : routes_(routes), gsi_(gsi), event_(std::move(event)) {}
  ~Interrupt() override {
    const auto done = ConnectIrqfd(routes_.vm_fd_, gsi_, event_.fd(), KVM_IRQFD_FLAG_DEASSIGN);
    if (!done.ok()) LogWarning("taking back an interrupt: " + done.error().message());
    routes_.ReleaseGsi(gsi_);
  }
  Interrupt(const Interrupt&) = delete;
  Interrupt& operator=(const Interrupt&) = delete;

  Result<void> SetMessage(const MsiMessage& message) override {
    return routes_.SetRoute(gsi_, message);
  }
  void Signal() override { event_.Signal(); }

 private:
  MsiRoutes& routes_;
  const uint32_t gsi_;
  const EventFd event_;
};

Result<std::unique_ptr<MsiRoutes>> MsiRoutes::Make(int vm_fd,
                                                   std::vector<kvm_irq_routing_entry> fixed,
                                                   uint32_t first_gsi, uint32_t end_gsi) {
  std::unique_ptr<MsiRoutes> routes(new MsiRoutes(vm_fd, std::move(fixed), first_gsi, end_gsi));
  MutexLock lock(routes->mutex_);
  TRY(routes->InstallLocked());
  return routes;
}

Result<std::unique_ptr<MsiInterrupt>> MsiRoutes::AllocateMsi() {
  EventFd event = TRY(EventFd::Make());
  const uint32_t gsi = TRY(ReserveGsi());
  auto connected = ConnectIrqfd(vm_fd_, gsi, event.fd(), 0);
  if (!connected.ok()) {
    ReleaseGsi(gsi);
    return std::move(connected).error();
  }
  return std::unique_ptr<MsiInterrupt>(new Interrupt(*this, gsi, std::move(event)));
}

Result<uint32_t> MsiRoutes::ReserveGsi() {
  MutexLock lock(mutex_);
  uint32_t gsi = first_gsi_;
  while (messages_.contains(gsi)) ++gsi;
  if (gsi >= end_gsi_)
    return Error(ErrorCode::kNoSpace, "all " + std::to_string(end_gsi_ - first_gsi_) +
                                          " message-signalled interrupts are in use");
  if (stale_) TRY(InstallLocked());
  messages_.emplace(gsi, std::nullopt);
  return gsi;
}

void MsiRoutes::ReleaseGsi(uint32_t gsi) {
  MutexLock lock(mutex_);
  const auto found = messages_.find(gsi);
  if (found->second) stale_ = true;
  messages_.erase(found);
}

Result<void> MsiRoutes::SetRoute(uint32_t gsi, const MsiMessage& message) {
  MutexLock lock(mutex_);
  std::optional<MsiMessage>& current = messages_.find(gsi)->second;
  // Guests write the same message again and again (masking); each update costs a grace period.
  if (current && SameMessage(*current, message)) return {};
  const auto before = std::exchange(current, message);
  auto installed = InstallLocked();
  if (!installed.ok()) current = before;  // KVM keeps its old table
  return installed;
}

Result<void> MsiRoutes::InstallLocked() {
  std::vector<kvm_irq_routing_entry> entries = fixed_;
  for (const auto& [gsi, message] : messages_)
    if (message) entries.push_back(MsiEntry(gsi, *message));

  const size_t table_bytes = entries.size() * sizeof(kvm_irq_routing_entry);
  std::vector<std::byte> argument(sizeof(kvm_irq_routing) + table_bytes);
  kvm_irq_routing header{};
  header.nr = static_cast<uint32_t>(entries.size());
  std::memcpy(argument.data(), &header, sizeof(header));
  std::memcpy(argument.data() + sizeof(header), entries.data(), table_bytes);

  TRY(Call(vm_fd_, KVM_SET_GSI_ROUTING, "KVM_SET_GSI_ROUTING", argument.data()));
  stale_ = false;
  return {};
}

}  // namespace skiff::kvm
