#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "base/mutex.h"
#include "devices/doorbell.h"
#include "devices/irq.h"

namespace skiff::fakes {

// A wire that remembers. Thread-safe.
class FakeIrqLine final : public IrqLine {
 public:
  void Raise() override {
    MutexLock lock(mutex_);
    if (!std::exchange(high_, true)) ++rises_;
  }
  void Lower() override {
    MutexLock lock(mutex_);
    high_ = false;
  }

  bool high() const {
    MutexLock lock(mutex_);
    return high_;
  }
  int rises() const {
    MutexLock lock(mutex_);
    return rises_;
  }

 private:
  mutable Mutex mutex_;
  bool high_ GUARDED_BY(mutex_) = false;
  int rises_ GUARDED_BY(mutex_) = 0;
};

// Hands out MSIs and keeps the messages that were delivered, in order. Thread-safe.
class FakeMsiController final : public MsiController {
 public:
  // Fails once `capacity` MSIs are out.
  explicit FakeMsiController(size_t capacity = 4096) : capacity_(capacity) {}

  Result<std::unique_ptr<MsiInterrupt>> AllocateMsi() override;

  // The data words delivered since the last call.
  std::vector<uint32_t> TakeDelivered() {
    MutexLock lock(mutex_);
    return std::exchange(delivered_, {});
  }
  size_t allocated() const {
    MutexLock lock(mutex_);
    return allocated_;
  }
  // How often any message was set: each costs a real controller a change of its routes.
  int route_changes() const {
    MutexLock lock(mutex_);
    return route_changes_;
  }
  // From now on SetMessage() fails, or works again.
  void RefuseMessages(bool refuse) {
    MutexLock lock(mutex_);
    refuse_ = refuse;
  }

 private:
  class Interrupt;

  const size_t capacity_;
  mutable Mutex mutex_;
  size_t allocated_ GUARDED_BY(mutex_) = 0;
  int route_changes_ GUARDED_BY(mutex_) = 0;
  bool refuse_ GUARDED_BY(mutex_) = false;
  std::vector<uint32_t> delivered_ GUARDED_BY(mutex_);
};

class FakeMsiController::Interrupt final : public MsiInterrupt {
 public:
  explicit Interrupt(FakeMsiController& controller) : controller_(controller) {}
  ~Interrupt() override {
    MutexLock lock(controller_.mutex_);
    --controller_.allocated_;
  }
  Interrupt(const Interrupt&) = delete;
  Interrupt& operator=(const Interrupt&) = delete;

  Result<void> SetMessage(const MsiMessage& message) override {
    MutexLock lock(controller_.mutex_);
    if (controller_.refuse_) return Invalid("the fake controller refuses messages");
    ++controller_.route_changes_;
    message_ = message;
    return {};
  }
  void Signal() override {
    MutexLock lock(controller_.mutex_);
    if (message_) controller_.delivered_.push_back(message_->data);
  }

 private:
  FakeMsiController& controller_;
  std::optional<MsiMessage> message_ GUARDED_BY(controller_.mutex_);
};

inline Result<std::unique_ptr<MsiInterrupt>> FakeMsiController::AllocateMsi() {
  MutexLock lock(mutex_);
  if (allocated_ >= capacity_) return Error(ErrorCode::kNoSpace, "no route left");
  ++allocated_;
  return std::unique_ptr<MsiInterrupt>(std::make_unique<Interrupt>(*this));
}

// Remembers which doorbells are bound. Binding one twice, or unbinding one that is not bound, is
// counted as misuse. Thread-safe.
class FakeDoorbellBinder final : public DoorbellBinder {
 public:
  Result<void> BindDoorbell(GuestAddr address, int event_fd) override {
    MutexLock lock(mutex_);
    if (refuse_) return Error(ErrorCode::kNoSpace, "the fake binder refuses");
    if (!bound_.insert({address, event_fd}).second) ++misuses_;
    return {};
  }
  void UnbindDoorbell(GuestAddr address, int event_fd) override {
    MutexLock lock(mutex_);
    if (bound_.erase({address, event_fd}) == 0) ++misuses_;
  }

  // Where doorbells are bound, sorted.
  std::vector<uint64_t> Addresses() const {
    MutexLock lock(mutex_);
    std::vector<uint64_t> addresses;
    for (const auto& [address, event_fd] : bound_) addresses.push_back(address.value());
    return addresses;
  }
  int misuses() const {
    MutexLock lock(mutex_);
    return misuses_;
  }
  // From now on BindDoorbell() fails.
  void Refuse() {
    MutexLock lock(mutex_);
    refuse_ = true;
  }

 private:
  mutable Mutex mutex_;
  std::set<std::pair<GuestAddr, int>> bound_ GUARDED_BY(mutex_);
  int misuses_ GUARDED_BY(mutex_) = 0;
  bool refuse_ GUARDED_BY(mutex_) = false;
};

}  // namespace skiff::fakes
