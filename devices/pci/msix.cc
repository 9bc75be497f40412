#include "devices/pci/msix.h"

#include <algorithm>
#include <bit>
#include <string>
#include <utility>

#include "base/arith.h"
#include "base/log.h"
#include "devices/pci/bytes.h"
#include "devices/pci/config_registers.h"

namespace skiff::pci {
namespace {

// PCI 3.0, 6.8.2, "MSI-X Table": what each entry of it looks like to the guest.
struct TableEntry {
  Le32 address_low;
  Le32 address_high;
  Le32 data;
  Le32 vector_control;
};
static_assert(sizeof(TableEntry) == kMsixEntryBytes);

bool Same(const MsiMessage& a, const MsiMessage& b) {
  return a.address == b.address && a.data == b.data;
}

void ReplaceHalf(uint64_t& whole, unsigned shift, uint32_t half) {
  whole = (whole & ~(uint64_t{0xffffffff} << shift)) | uint64_t{half} << shift;
}

}  // namespace

Msix::Msix(uint16_t vectors, MsiController& controller)
    : controller_(controller), vectors_(vectors), table_(vectors) {}

Msix::CapabilityBody Msix::Capability(uint8_t bar, uint32_t offset) const {
  struct Body {
    Le16 control;
    Le32 table;
    Le32 pending;
  };
  static_assert(sizeof(Body) == sizeof(CapabilityBody::bytes));
  Body body;
  body.control = static_cast<uint16_t>(vectors() - 1);
  body.table = offset | bar;
  body.pending = static_cast<uint32_t>(offset + kPendingOffset) | bar;
  Body writable;
  writable.control = kMsixControlFunctionMask | kMsixControlEnable;
  return {std::bit_cast<std::array<std::byte, 10>>(body),
          std::bit_cast<std::array<std::byte, 10>>(writable)};
}

void Msix::WriteControl(uint16_t control) {
  const bool enable = control & kMsixControlEnable;
  const bool mask = control & kMsixControlFunctionMask;
  MutexLock lock(mutex_);
  if (enable == enabled() && mask == function_masked_) return;
  enabled_.store(enable, std::memory_order_release);
  function_masked_ = mask;
  UpdateAllLocked();
}

void Msix::Read(uint64_t offset, std::span<std::byte> data) const {
  if (offset >= kPendingOffset) {
    std::array<std::byte, kMaxVectors / 8> bits{};
    ReadPending(bits);
    return ReadSlice(bits, offset - kPendingOffset, data);
  }
  FillWithOnes(data);
  const uint64_t vector = offset / kMsixEntryBytes;
  if (vector >= vectors()) return;
  MutexLock lock(mutex_);
  const Entry& entry = table_[vector];
  TableEntry shown;
  shown.address_low = static_cast<uint32_t>(entry.message.address);
  shown.address_high = static_cast<uint32_t>(entry.message.address >> 32);
  shown.data = entry.message.data;
  shown.vector_control = entry.masked ? kMsixVectorControlMask : 0;
  ReadSlice(std::as_bytes(std::span(&shown, 1)), offset % kMsixEntryBytes, data);
}

// PCI 3.0, 6.8.2: software uses aligned dwords and qwords only; we drop anything else. Pending
// bits are read-only.
void Msix::Write(uint64_t offset, std::span<const std::byte> data) {
  if (data.size() != 4 && data.size() != 8) return;
  if (!IsAligned(offset, data.size())) return;
  for (size_t at = 0; at < data.size(); at += 4)
    WriteDword(offset + at, static_cast<uint32_t>(ToValue(data.subspan(at, 4))));
}

void Msix::WriteDword(uint64_t offset, uint32_t value) {
  const uint64_t vector = offset / kMsixEntryBytes;
  if (vector >= vectors()) return;
  MutexLock lock(mutex_);
  Entry& entry = table_[vector];
  switch (offset % kMsixEntryBytes) {
    case kMsixEntryAddressLow:
      // Bits 1:0 must be 0: the address is a dword's.
      ReplaceHalf(entry.message.address, 0, value & ~uint32_t{3});
      break;
    case kMsixEntryAddressHigh:
      ReplaceHalf(entry.message.address, 32, value);
      break;
    case kMsixEntryData:
      entry.message.data = value;
      break;
    case kMsixEntryVectorControl:
      entry.masked = value & kMsixVectorControlMask;
      break;
  }
  UpdateLocked(static_cast<uint16_t>(vector));
}

Result<void> Msix::Reserve(uint16_t vector) {
  if (vector >= vectors()) return OutOfRange("no such MSI-X vector");
  MutexLock lock(mutex_);
  Entry& entry = table_[vector];
  if (entry.route) return {};
  entry.route = TRY(controller_.AllocateMsi());
  {
    MutexLock vector_lock(vectors_[vector].mutex);
    vectors_[vector].route = entry.route.get();
  }
  UpdateLocked(vector);
  return {};
}

void Msix::Signal(uint16_t vector) {
  if (vector >= vectors()) return;
  Vector& target = vectors_[vector];
  MutexLock lock(target.mutex);
  if (target.gate == Gate::kMasked) target.pending = true;
  if (target.gate == Gate::kOpen && target.route) target.route->Signal();
}

void Msix::Reset() {
  MutexLock lock(mutex_);
  enabled_.store(false, std::memory_order_release);
  function_masked_ = false;
  for (Entry& entry : table_) {
    entry.message = MsiMessage{};
    entry.masked = true;
  }
  UpdateAllLocked();
}

void Msix::ReadPending(std::span<std::byte, kMaxVectors / 8> bits) const {
  for (size_t i = 0; i < vectors_.size(); ++i) {
    MutexLock lock(vectors_[i].mutex);
    if (vectors_[i].pending) bits[i / 8] |= std::byte{1} << (i % 8);
  }
}

Msix::Gate Msix::GateLocked(const Entry& entry) const {
  if (!enabled()) return Gate::kOff;
  return function_masked_ || entry.masked ? Gate::kMasked : Gate::kOpen;
}

void Msix::UpdateLocked(uint16_t vector) {
  Entry& entry = table_[vector];
  const Gate gate = GateLocked(entry);
  if (gate == Gate::kOpen) RouteLocked(entry);  // before the gate opens, and without its lock
  Vector& target = vectors_[vector];
  MutexLock lock(target.mutex);
  target.gate = gate;
  if (gate == Gate::kMasked) return;
  const bool deliver = gate == Gate::kOpen && target.pending;
  target.pending = false;
  if (deliver && target.route) target.route->Signal();
}

// Each new message costs a change of the controller's routes, so drivers that mask and unmask, or
// write the same again, are free.
void Msix::RouteLocked(Entry& entry) {
  if (!entry.route || (entry.routed && Same(*entry.routed, entry.message))) return;
  auto set = entry.route->SetMessage(entry.message);
  if (set.ok()) {
    entry.routed = entry.message;
    return;
  }
  entry.routed.reset();
  static LimitedLog log;
  log.Warning(std::string("MSI-X vector not routed: ").append(set.error().message()));
}

void Msix::UpdateAllLocked() {
  for (uint16_t vector = 0; vector < vectors(); ++vector) UpdateLocked(vector);
}

}  // namespace skiff::pci
