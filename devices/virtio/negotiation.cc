#include "devices/virtio/negotiation.h"

#include <string>
#include <utility>

namespace skiff::virtio {
namespace {

// What SplitQueue implements. Whatever is offered must be, so packed rings and the reset of
// single queues are not here.
constexpr uint64_t kRingFeatures =
    kFeatureVersion1 | kFeatureRingIndirectDesc | kFeatureRingEventIdx;

uint32_t Word(uint64_t features, uint32_t select) {
  if (select > 1) return 0;
  return static_cast<uint32_t>(features >> (32 * select));
}

GuestAddr& AreaOf(QueueLayout& layout, QueueArea area) {
  switch (area) {
    case QueueArea::kDescriptor:
      return layout.descriptor_area;
    case QueueArea::kDriver:
      return layout.driver_area;
    case QueueArea::kDevice:
      break;
  }
  return layout.device_area;
}

}  // namespace

Result<std::unique_ptr<Negotiation>> Negotiation::Make(const GuestMemory& memory, Device& device,
                                                       Interrupts& interrupts) {
  std::vector<EventFd> kicks;
  for (size_t i = 0; i < device.max_queue_sizes().size(); ++i)
    kicks.push_back(TRY(EventFd::Make()));
  return std::unique_ptr<Negotiation>(
      new Negotiation(memory, device, interrupts, std::move(kicks)));
}

Negotiation::Negotiation(const GuestMemory& memory, Device& device, Interrupts& interrupts,
                         std::vector<EventFd> kicks)
    : memory_(memory),
      device_(device),
      interrupts_(interrupts),
      kicks_(std::move(kicks)),
      state_(InitialState()) {}

Negotiation::~Negotiation() { WriteStatus(0); }

Negotiation::State Negotiation::InitialState() const {
  State state;
  for (const uint16_t size : device_.max_queue_sizes())
    state.queues.push_back({.layout = {.size = size}, .enabled = false});
  return state;
}

uint64_t Negotiation::offered() const { return device_.offered_features() | kRingFeatures; }

uint8_t Negotiation::status() const {
  MutexLock lock(mutex_);
  return state_.status;
}

void Negotiation::WriteStatus(uint8_t value) {
  MutexLock transition(transition_mutex_);
  if (value == 0) return Reset();
  bool start = false;
  {
    MutexLock lock(mutex_);
    // VIRTIO 1.2, 2.1.1: drivers only ever add bits, so one that is missing is not taken away.
    const unsigned added = AllowedLocked(value) & ~unsigned{state_.status};
    state_.status = static_cast<uint8_t>(state_.status | added);
    start = (added & kStatusDriverOk) != 0;
  }
  if (start) StartDevice();
}

uint8_t Negotiation::AllowedLocked(uint8_t value) const {
  unsigned allowed = value & (kStatusAcknowledge | kStatusDriver | kStatusFeaturesOk |
                              kStatusDriverOk | kStatusFailed);
  // VIRTIO 1.2, 2.2.2 "Device Requirements: Feature Bits": features that do not fit are refused by
  // leaving FEATURES_OK clear; and without it no driver gets to DRIVER_OK (3.1.1).
  if (!AcceptableLocked()) allowed &= ~unsigned{kStatusFeaturesOk};
  if (((allowed | state_.status) & kStatusFeaturesOk) == 0) allowed &= ~unsigned{kStatusDriverOk};
  return static_cast<uint8_t>(allowed);
}

bool Negotiation::AcceptableLocked() const {
  return (state_.accepted & ~offered()) == 0 && (state_.accepted & kFeatureVersion1) != 0;
}

void Negotiation::Reset() {
  if (std::exchange(running_, false)) device_.Stop();
  for (const EventFd& kick : kicks_) kick.Drain();
  State initial = InitialState();
  MutexLock lock(mutex_);
  state_ = std::move(initial);
}

void Negotiation::StartDevice() {
  auto session = MakeSession();
  auto started =
      session.ok() ? device_.Start(std::move(session).value()) : Result<void>(session.error());
  running_ = started.ok();
  if (running_) return;
  log_.Warning("virtio device of type " + std::to_string(static_cast<unsigned>(device_type())) +
               " does not start: " + started.error().message());
  NeedsReset();
}

Result<Session> Negotiation::MakeSession() {
  std::vector<Queue> queues;
  Session session{.features = 0, .queues = {}, .notifier = this};
  {
    MutexLock lock(mutex_);
    queues = state_.queues;
    session.features = state_.accepted;
  }
  for (uint16_t index = 0; index < queues.size(); ++index) {
    if (!queues[index].enabled) continue;
    auto queue = SplitQueue::Open(memory_, queues[index].layout, device_.max_queue_sizes()[index],
                                  session.features);
    if (!queue.ok()) return std::move(queue).error().While("queue " + std::to_string(index));
    session.queues.push_back({index, std::move(queue).value(), &kicks_[index]});
  }
  return session;
}

uint32_t Negotiation::device_feature_select() const {
  MutexLock lock(mutex_);
  return state_.device_feature_select;
}

void Negotiation::SelectDeviceFeatures(uint32_t word) {
  MutexLock lock(mutex_);
  state_.device_feature_select = word;
}

uint32_t Negotiation::DeviceFeatures() const { return Word(offered(), device_feature_select()); }

uint32_t Negotiation::driver_feature_select() const {
  MutexLock lock(mutex_);
  return state_.driver_feature_select;
}

void Negotiation::SelectDriverFeatures(uint32_t word) {
  MutexLock lock(mutex_);
  state_.driver_feature_select = word;
}

uint32_t Negotiation::DriverFeatures() const {
  MutexLock lock(mutex_);
  return Word(state_.accepted, state_.driver_feature_select);
}

void Negotiation::AcceptFeatures(uint32_t bits) {
  MutexLock lock(mutex_);
  const uint32_t word = state_.driver_feature_select;
  // Words beyond ours hold no bit that was offered: nothing there can be accepted. Settled
  // features stay as they are.
  if (word > 1 || (state_.status & kStatusFeaturesOk) != 0) return;
  const uint64_t mask = uint64_t{UINT32_MAX} << (32 * word);
  state_.accepted = (state_.accepted & ~mask) | (uint64_t{bits} << (32 * word));
}

uint16_t Negotiation::queue_select() const {
  MutexLock lock(mutex_);
  return state_.queue_select;
}

void Negotiation::SelectQueue(uint16_t index) {
  MutexLock lock(mutex_);
  state_.queue_select = index;
}

const Negotiation::Queue* Negotiation::SelectedLocked() const {
  const size_t index = state_.queue_select;
  return index < state_.queues.size() ? &state_.queues[index] : nullptr;
}

Negotiation::Queue* Negotiation::ConfigurableLocked() {
  const size_t index = state_.queue_select;
  if (index >= state_.queues.size() || state_.queues[index].enabled) return nullptr;
  // VIRTIO 1.2, 3.1.1 "Driver Requirements: Device Initialization": queues are set up before.
  if ((state_.status & kStatusDriverOk) != 0) return nullptr;
  return &state_.queues[index];
}

uint16_t Negotiation::QueueSize() const {
  MutexLock lock(mutex_);
  const Queue* queue = SelectedLocked();
  return queue != nullptr ? queue->layout.size : uint16_t{0};
}

uint16_t Negotiation::MaxQueueSize() const {
  const auto sizes = device_.max_queue_sizes();
  const size_t index = queue_select();
  return index < sizes.size() ? sizes[index] : uint16_t{0};
}

void Negotiation::SetQueueSize(uint16_t size) {
  MutexLock lock(mutex_);
  if (Queue* queue = ConfigurableLocked()) queue->layout.size = size;
}

uint64_t Negotiation::QueueAddress(QueueArea area) const {
  MutexLock lock(mutex_);
  const Queue* queue = SelectedLocked();
  if (queue == nullptr) return 0;
  QueueLayout layout = queue->layout;
  return AreaOf(layout, area).value();
}

void Negotiation::SetQueueAddress(QueueArea area, uint64_t value, uint64_t mask) {
  MutexLock lock(mutex_);
  Queue* queue = ConfigurableLocked();
  if (queue == nullptr) return;
  GuestAddr& address = AreaOf(queue->layout, area);
  address = GuestAddr((address.value() & ~mask) | (value & mask));
}

bool Negotiation::QueueEnabled() const {
  MutexLock lock(mutex_);
  const Queue* queue = SelectedLocked();
  return queue != nullptr && queue->enabled;
}

void Negotiation::EnableQueue() {
  MutexLock lock(mutex_);
  if (Queue* queue = ConfigurableLocked()) queue->enabled = true;
}

void Negotiation::Kick(uint16_t queue_index) const {
  if (queue_index < kicks_.size()) kicks_[queue_index].Signal();
}

void Negotiation::ReadConfig(uint32_t offset, std::span<std::byte> data) const {
  device_.ReadConfig(offset, data);
}

void Negotiation::WriteConfig(uint32_t offset, std::span<const std::byte> data) {
  device_.WriteConfig(offset, data);
}

void Negotiation::QueueUsed(uint16_t queue_index) { interrupts_.QueueInterrupt(queue_index); }

void Negotiation::ConfigChanged() {
  config_generation_.fetch_add(1);
  interrupts_.ConfigInterrupt();
}

void Negotiation::NeedsReset() {
  bool tell = false;
  {
    MutexLock lock(mutex_);
    tell = (state_.status & (kStatusDeviceNeedsReset | kStatusDriverOk)) == kStatusDriverOk;
    state_.status |= kStatusDeviceNeedsReset;
  }
  // VIRTIO 1.2, 2.1.2 "Device Requirements: Device Status Field".
  if (tell) interrupts_.ConfigInterrupt();
}

}  // namespace skiff::virtio
