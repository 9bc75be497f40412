#pragma once

#include <sys/uio.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>
#include <vector>

#include "base/mapping.h"
#include "base/position.h"
#include "base/result.h"

namespace skiff {

template <typename T>
concept GuestReadable = std::is_trivially_copyable_v<T> && !std::is_pointer_v<T>;

// A bounds-checked window on guest RAM. The guest may rewrite these bytes at any
// instant, so there is no way to get a reference to them: copy in, copy out, or
// hand the kernel an iovec.
class GuestSpan {
 public:
  GuestSpan() = default;  // empty

  size_t size() const { return size_; }
  // kOutOfRange unless offset + length stays inside.
  Result<GuestSpan> Subspan(size_t offset, size_t length) const;

  // Copies min(size(), dst.size()) bytes, each read exactly once.
  size_t CopyTo(std::span<std::byte> dst) const;
  size_t CopyFrom(std::span<const std::byte> src) const;
  void Zero() const;

  iovec ForKernel() const { return {data_, size_}; }

 private:
  friend class GuestMemory;
  GuestSpan(std::byte* data, size_t size) : data_(data), size_(size) {}
  std::byte* data_ = nullptr;
  size_t size_ = 0;
};

// One 16-bit little-endian ring index shared with the guest.
class GuestIndex {
 public:
  uint16_t LoadAcquire() const;
  void StoreRelease(uint16_t value) const;
  // Orders earlier stores before the load, as event suppression needs it (VIRTIO 1.2, 2.7.10).
  uint16_t LoadAfterFence() const;

 private:
  friend class GuestMemory;
  explicit GuestIndex(uint16_t* word) : word_(word) {}
  uint16_t* word_;
};

// All guest RAM. Mapped for the life of the VM and never moved, so spans and
// iovecs taken from it stay valid until it is destroyed. Safe to share between
// threads: the object is immutable, only the bytes behind it change.
class GuestMemory {
 public:
  // Private anonymous memory for each range, zeroed, not reserved in advance and advised for huge
  // pages; 2 MiB steps of guest and host addresses coincide, so that KVM can map huge pages.
  // Ranges are sorted, disjoint, page-aligned and not empty, else kInvalid.
  static Result<GuestMemory> Allocate(std::span<const GuestRange> ranges);
  GuestMemory(GuestMemory&&) noexcept = default;
  ~GuestMemory() = default;

  struct Region {
    GuestRange range;
    std::byte* host;  // range.length() bytes
  };
  // For KVM's memory slots.
  std::span<const Region> regions() const { return regions_; }
  uint64_t total_bytes() const;

  // The whole range must lie inside one region.
  Result<GuestSpan> At(GuestRange range) const;
  // kInvalid unless the address is a multiple of 2.
  Result<GuestIndex> IndexAt(GuestAddr address) const;

  template <GuestReadable T>
  Result<T> Read(GuestAddr address) const {
    GuestRange range = TRY(GuestRange::Make(address, sizeof(T)));
    GuestSpan span = TRY(At(range));
    T copy{};
    span.CopyTo(std::as_writable_bytes(std::span(&copy, 1)));
    return copy;
  }

  template <GuestReadable T>
  Result<void> Write(GuestAddr address, const T& value) const {
    GuestRange range = TRY(GuestRange::Make(address, sizeof(T)));
    GuestSpan span = TRY(At(range));
    span.CopyFrom(std::as_bytes(std::span(&value, 1)));
    return {};
  }

 private:
  GuestMemory(std::vector<Mapping> mappings, std::vector<Region> regions)
      : mappings_(std::move(mappings)), regions_(std::move(regions)) {}
  std::vector<Mapping> mappings_;
  std::vector<Region> regions_;  // sorted by start, disjoint
};

}  // namespace skiff
