#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "base/mutex.h"
#include "base/result.h"
#include "devices/irq.h"

namespace skiff::pci {

// MSI-X of one function (PCI 3.0, 6.8.2): the capability's control word, the vector table and the
// pending bits. Table and pending bits fill one page of a BAR: the table from its start, the
// pending bits from kPendingOffset.
//
// Thread-safe. Signal() takes only its own vector's lock, which is never held while the guest's
// writes are turned into routes. After a write that masks a vector has returned, nothing of it is
// delivered. The controller outlives it.
class Msix {
 public:
  static constexpr uint64_t kRegionBytes = 0x1000;
  static constexpr uint64_t kPendingOffset = 0x800;
  static constexpr uint16_t kMaxVectors = 128;  // what fits before kPendingOffset

  // 1 <= vectors <= kMaxVectors
  Msix(uint16_t vectors, MsiController& controller);

  uint16_t vectors() const { return static_cast<uint16_t>(vectors_.size()); }

  // The capability behind its ID and next bytes, for a region at `offset` of BAR `bar`.
  struct CapabilityBody {
    std::array<std::byte, 10> bytes;
    std::array<std::byte, 10> writable;
  };
  CapabilityBody Capability(uint8_t bar, uint32_t offset) const;

  // The guest's side: the control word, and the page of the BAR.
  void WriteControl(uint16_t control) EXCLUDES(mutex_);
  void Read(uint64_t offset, std::span<std::byte> data) const EXCLUDES(mutex_);
  void Write(uint64_t offset, std::span<const std::byte> data) EXCLUDES(mutex_);

  // While enabled, the function must not use INTx.
  bool enabled() const { return enabled_.load(std::memory_order_acquire); }

  // Gets hold of a route to the interrupt controller, so that Signal(vector) can deliver. Vectors
  // that no event uses need none. kOutOfRange for a vector that does not exist, else the
  // controller's error.
  Result<void> Reserve(uint16_t vector) EXCLUDES(mutex_);

  // Delivers, or sets the pending bit of a masked vector. Lost while MSI-X is off, and on vectors
  // that do not exist or have no route.
  void Signal(uint16_t vector);

  // As after power-on; routes are kept.
  void Reset() EXCLUDES(mutex_);

 private:
  enum class Gate : uint8_t { kOff, kMasked, kOpen };

  struct Vector {
    mutable Mutex mutex;
    Gate gate GUARDED_BY(mutex) = Gate::kOff;
    bool pending GUARDED_BY(mutex) = false;
    MsiInterrupt* route GUARDED_BY(mutex) = nullptr;
  };
  // What the guest wrote, and what became of it.
  struct Entry {
    MsiMessage message{};
    bool masked = true;
    std::unique_ptr<MsiInterrupt> route;
    std::optional<MsiMessage> routed;  // the message that `route` sends
  };

  void WriteDword(uint64_t offset, uint32_t value) EXCLUDES(mutex_);
  void ReadPending(std::span<std::byte, kMaxVectors / 8> bits) const;
  Gate GateLocked(const Entry& entry) const REQUIRES(mutex_);
  // Brings the vector in line with its entry; delivers what was pending when the gate opens.
  void UpdateLocked(uint16_t vector) REQUIRES(mutex_);
  void RouteLocked(Entry& entry) REQUIRES(mutex_);
  void UpdateAllLocked() REQUIRES(mutex_);

  MsiController& controller_;
  std::atomic<bool> enabled_{false};
  std::vector<Vector> vectors_;  // never resized

  mutable Mutex mutex_;  // taken before a vector's
  std::vector<Entry> table_ GUARDED_BY(mutex_);
  bool function_masked_ GUARDED_BY(mutex_) = false;
};

}  // namespace skiff::pci
