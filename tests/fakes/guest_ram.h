#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/guest_memory.h"

namespace skiff::fakes {

// A few MiB of guest memory with a bump allocator, as a driver's own view of it. Used by one
// thread at a time, except for Store() and Load() of 2, 4 or 8 aligned bytes, which are atomic.
class GuestRam {
 public:
  static constexpr uint64_t kStart = 0x100000;
  explicit GuestRam(uint64_t bytes = 4 * 1024 * 1024);

  const GuestMemory& memory() const { return memory_; }
  GuestAddr end() const { return end_; }

  // Zeroed bytes that nothing else uses; aborts when none are left.
  GuestAddr Allocate(uint64_t bytes, uint64_t alignment = 16);
  GuestAddr Place(std::span<const std::byte> bytes);  // allocates and fills

  void Write(GuestAddr address, std::span<const std::byte> bytes) const;
  std::vector<std::byte> Read(GuestAddr address, size_t bytes) const;
  void Fill(GuestAddr address, size_t bytes, uint8_t value) const;

  template <GuestReadable T>
  void Store(GuestAddr address, const T& value) const {
    if (!memory_.Write(address, value).ok()) std::abort();
  }
  template <GuestReadable T>
  T Load(GuestAddr address) const {
    return memory_.Read<T>(address).value();
  }
  GuestIndex Index(GuestAddr address) const { return memory_.IndexAt(address).value(); }

 private:
  GuestMemory memory_;
  GuestAddr next_{kStart};
  GuestAddr end_;
};

}  // namespace skiff::fakes
