#include "base/guest_memory.h"

#include <sys/mman.h>

#include <algorithm>
#include <bit>
#include <cstring>

#include "base/arith.h"

// The guest writes these bytes while we read them; that is the device model's nature and not a
// race of ours. The word copies below are atomic, payload is not and need not be.
#if defined(__SANITIZE_THREAD__)
#define SKIFF_NO_TSAN __attribute__((no_sanitize("thread"), noinline))
#else
#define SKIFF_NO_TSAN
#endif

namespace skiff {
namespace {

constexpr uint64_t kHugePage = 2 * kMiB;
constexpr uint64_t kPage = 4 * kKiB;

template <typename Word>
bool CopyAsWord(std::byte* dst, const std::byte* src, size_t length) {
  if (length != sizeof(Word)) return false;
  const auto aligned = [](const std::byte* p) {
    return reinterpret_cast<uintptr_t>(p) % alignof(Word) == 0;
  };
  if (!aligned(dst) || !aligned(src)) return false;
  const Word word = __atomic_load_n(reinterpret_cast<const Word*>(src), __ATOMIC_RELAXED);
  __atomic_store_n(reinterpret_cast<Word*>(dst), word, __ATOMIC_RELAXED);
  return true;
}

SKIFF_NO_TSAN void Copy(std::byte* dst, const std::byte* src, size_t length) {
  if (CopyAsWord<uint64_t>(dst, src, length) || CopyAsWord<uint32_t>(dst, src, length) ||
      CopyAsWord<uint16_t>(dst, src, length))
    return;
  if (length != 0) std::memcpy(dst, src, length);
}

Result<void> CheckRanges(std::span<const GuestRange> ranges) {
  uint64_t previous_end = 0;
  for (const GuestRange& range : ranges) {
    const bool aligned =
        IsAligned(range.start().value(), kPage) && IsAligned(range.length(), kPage);
    if (range.empty() || !aligned || range.start().value() < previous_end)
      return Invalid("guest memory regions must be sorted, disjoint and page-aligned");
    previous_end = range.end().value();
  }
  return {};
}

}  // namespace

Result<GuestSpan> GuestSpan::Subspan(size_t offset, size_t length) const {
  if (offset > size_ || length > size_ - offset) return OutOfRange("beyond the guest buffer");
  return GuestSpan(data_ + offset, length);
}

size_t GuestSpan::CopyTo(std::span<std::byte> dst) const {
  const size_t length = std::min(size_, dst.size());
  Copy(dst.data(), data_, length);
  return length;
}

size_t GuestSpan::CopyFrom(std::span<const std::byte> src) const {
  const size_t length = std::min(size_, src.size());
  Copy(data_, src.data(), length);
  return length;
}

SKIFF_NO_TSAN void GuestSpan::Zero() const {
  if (size_ != 0) std::memset(data_, 0, size_);
}

static_assert(std::endian::native == std::endian::little, "GuestIndex and KVM slots assume it");

uint16_t GuestIndex::LoadAcquire() const { return __atomic_load_n(word_, __ATOMIC_ACQUIRE); }

void GuestIndex::StoreRelease(uint16_t value) const {
  __atomic_store_n(word_, value, __ATOMIC_RELEASE);
}

uint16_t GuestIndex::LoadAfterFence() const {
#if defined(__SANITIZE_THREAD__)
  // ThreadSanitizer does not model fences; a read-modify-write orders the same way.
  return __atomic_fetch_add(word_, 0, __ATOMIC_SEQ_CST);
#else
  __atomic_thread_fence(__ATOMIC_SEQ_CST);
  return __atomic_load_n(word_, __ATOMIC_ACQUIRE);
#endif
}

Result<GuestMemory> GuestMemory::Allocate(std::span<const GuestRange> ranges) {
  TRY(CheckRanges(ranges));
  std::vector<Mapping> mappings;
  std::vector<Region> regions;
  for (const GuestRange& range : ranges) {
    // One huge page more than needed, so that host and guest addresses agree modulo 2 MiB.
    mappings.push_back(TRY(Mapping::Anonymous(range.length() + kHugePage)));
    std::byte* const start = mappings.back().data();
    const uint64_t skip =
        (range.start().value() - reinterpret_cast<uintptr_t>(start)) & (kHugePage - 1);
    std::byte* const host = start + skip;
    // Advice only: a host without transparent huge pages runs the guest too, slower.
    madvise(host, range.length(), MADV_HUGEPAGE);
    regions.push_back({range, host});
  }
  return GuestMemory(std::move(mappings), std::move(regions));
}

uint64_t GuestMemory::total_bytes() const {
  uint64_t total = 0;
  for (const Region& region : regions_) total += region.range.length();
  return total;
}

Result<GuestSpan> GuestMemory::At(GuestRange range) const {
  for (const Region& region : regions_) {
    if (!region.range.Contains(range)) continue;
    const uint64_t offset = range.start().value() - region.range.start().value();
    return GuestSpan(region.host + offset, range.length());
  }
  return OutOfRange("address outside guest memory");
}

Result<GuestIndex> GuestMemory::IndexAt(GuestAddr address) const {
  if (!IsAligned(address.value(), 2)) return Invalid("ring index at an odd address");
  const GuestRange range = TRY(GuestRange::Make(address, sizeof(uint16_t)));
  const GuestSpan span = TRY(At(range));
  return GuestIndex(reinterpret_cast<uint16_t*>(span.data_));
}

}  // namespace skiff
