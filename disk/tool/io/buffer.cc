#include "disk/tool/io/buffer.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <numeric>

#include "base/arith.h"

namespace skiff::io {
namespace {

constexpr size_t kPage = 4096;
constexpr size_t kMisalignment = 16;

std::byte* Allocate(size_t size) {
  void* const memory = std::aligned_alloc(kPage, AlignUp(size, kPage));
  if (memory == nullptr) std::abort();  // as `new` without exceptions
  return static_cast<std::byte*>(memory);
}

}  // namespace

void Buffer::Free::operator()(std::byte* memory) const { std::free(memory); }

Buffer::Buffer(std::span<const uint64_t> lengths, Placement placement) {
  const uint64_t total = std::accumulate(lengths.begin(), lengths.end(), uint64_t{0});
  const size_t skip = placement == Placement::kMisaligned ? kMisalignment : 0;
  memory_.reset(Allocate(std::max<size_t>(total + skip, 1)));
  bytes_ = {memory_.get() + skip, total};
  std::byte* next = bytes_.data();
  for (const uint64_t length : lengths) {
    pieces_.push_back({next, length});
    next += length;
  }
}

void Buffer::Fill(std::byte pattern) { std::fill(bytes_.begin(), bytes_.end(), pattern); }

void Buffer::Fill(std::span<const std::byte> pattern) {
  for (size_t done = 0; done < bytes_.size();) {
    const size_t length = std::min(pattern.size(), bytes_.size() - done);
    std::memcpy(bytes_.data() + done, pattern.data(), length);
    done += length;
  }
}

bool AllAre(std::span<const std::byte> bytes, std::byte pattern) {
  return std::all_of(bytes.begin(), bytes.end(), [&](std::byte b) { return b == pattern; });
}

}  // namespace skiff::io
