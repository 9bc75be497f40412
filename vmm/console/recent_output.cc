#include "vmm/console/recent_output.h"

#include <algorithm>

namespace skiff {

void RecentOutput::Append(std::span<const std::byte> bytes) {
  MutexLock lock(mutex_);
  for (const std::byte byte : bytes.last(std::min(bytes.size(), kBytes)))
    ring_[total_++ % kBytes] = static_cast<char>(byte);
}

std::string RecentOutput::Text() const {
  MutexLock lock(mutex_);
  const uint64_t first = total_ - std::min<uint64_t>(total_, kBytes);
  std::string text;
  for (uint64_t i = first; i < total_; ++i) {
    const char c = ring_[i % kBytes];
    if (c == '\n' || c == '\t' || (c >= ' ' && c <= '~')) text.push_back(c);
  }
  // The first line has lost its beginning, unless it is all there is.
  if (const size_t end = text.find('\n'); first != 0 && end + 1 < text.size() && end != text.npos)
    text.erase(0, end + 1);
  return text;
}

}  // namespace skiff
