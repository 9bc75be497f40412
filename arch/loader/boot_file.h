#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "base/guest_memory.h"
#include "base/result.h"
#include "base/unique_fd.h"

namespace skiff {

// A regular, non-empty file of the host that goes into guest memory: a kernel or an initrd.
// Read-only and positioned, so it may be used from several threads.
class BootFile {
 public:
  // `role` ("kernel", "initrd") begins every error, the path follows. kUnsupported for a
  // directory, a device, an empty file.
  static Result<BootFile> Open(std::string role, std::string path);

  uint64_t size() const { return size_; }
  // For messages: "kernel /boot/vmlinuz".
  const std::string& label() const { return label_; }

  // kCorrupt if the file ends before offset + out.size().
  Result<void> ReadAt(uint64_t offset, std::span<std::byte> out) const;
  // Straight into guest memory, without a copy of ours.
  Result<void> ReadInto(uint64_t offset, const GuestSpan& out) const;
  // The first bytes: `bytes`, or fewer where the file is shorter. Returns how many.
  Result<size_t> ReadPrefix(std::span<std::byte> bytes) const;

 private:
  BootFile(UniqueFd fd, uint64_t size, std::string label)
      : fd_(std::move(fd)), size_(size), label_(std::move(label)) {}
  Result<void> ReadChecked(uint64_t offset, iovec target) const;

  UniqueFd fd_;
  uint64_t size_;
  std::string label_;
};

}  // namespace skiff
