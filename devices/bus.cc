#include "devices/bus.h"

#include <algorithm>
#include <atomic>
#include <optional>
#include <utility>

namespace skiff {
namespace {

// Small numbers, one per thread, so that the first threads (the vCPUs) get different shards.
size_t ThreadNumber() {
  static std::atomic<size_t> next{0};
  thread_local const size_t number = next.fetch_add(1, std::memory_order_relaxed);
  return number;
}

// The first entry that starts behind `address`.
template <typename Map>
auto FirstBehind(Map& map, Position<BusSpace> address) {
  return std::upper_bound(
      map.begin(), map.end(), address,
      [](Position<BusSpace> at, const auto& entry) { return at < entry.range.start(); });
}

struct Target {
  BusDevice& device;
  uint64_t offset;
};

template <typename Map>
std::optional<Target> Find(const Map& map, uint64_t address, size_t size) {
  const auto behind = FirstBehind(map, Position<BusSpace>(address));
  if (behind == map.begin()) return std::nullopt;
  const auto& entry = *std::prev(behind);
  const uint64_t offset = address - entry.range.start().value();
  const uint64_t length = entry.range.length();
  if (offset >= length || size > length - offset) return std::nullopt;
  return Target{*entry.device, offset};
}

}  // namespace

Bus::Bus() {
  MutexLock lock(mutex_);
  Publish({});
}

Result<void> Bus::Attach(BusRange range, std::shared_ptr<BusDevice> device) {
  if (range.empty()) return Invalid("empty bus range");
  MutexLock lock(mutex_);
  for (const Entry& entry : *current_) {
    if (entry.range.Overlaps(range))
      return Invalid("bus range overlaps that of " + std::string(entry.device->name()));
  }
  Map map = *current_;
  map.insert(FirstBehind(map, range.start()), Entry{range, std::move(device)});
  Publish(std::move(map));
  return {};
}

void Bus::Detach(BusRange range) {
  Snapshot last_reference;  // the device may die with it, outside the lock
  MutexLock lock(mutex_);
  Map map = *current_;
  const size_t removed = std::erase_if(map, [range](const Entry& entry) {
    return entry.range.start() == range.start() && entry.range.length() == range.length();
  });
  if (removed == 0) return;
  last_reference = current_;
  Publish(std::move(map));
}

bool Bus::Read(uint64_t address, std::span<std::byte> data) const {
  const Snapshot map = TakeSnapshot();
  const auto target = Find(*map, address, data.size());
  if (!target) return false;
  target->device.Read(target->offset, data);
  return true;
}

bool Bus::Write(uint64_t address, std::span<const std::byte> data) const {
  const Snapshot map = TakeSnapshot();
  const auto target = Find(*map, address, data.size());
  if (!target) return false;
  target->device.Write(target->offset, data);
  return true;
}

Bus::Snapshot Bus::TakeSnapshot() const {
  const Shard& shard = shards_[ThreadNumber() % kShards];
  MutexLock lock(shard.mutex);
  return shard.map;
}

void Bus::Publish(Map map) {
  current_ = std::make_shared<const Map>(std::move(map));
  for (Shard& shard : shards_) {
    // A control block of its own; the deleter's copy keeps the common map alive.
    Snapshot fresh(current_.get(), [keep = current_](const Map*) {});
    MutexLock lock(shard.mutex);
    shard.map.swap(fresh);
  }
}

}  // namespace skiff
