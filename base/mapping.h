#pragma once

#include <cstddef>
#include <span>

#include "base/result.h"

namespace skiff {

// Owns a stretch of mmap()ed memory.
class Mapping {
 public:
  // Private, zeroed, not reserved in advance (MAP_NORESERVE): pages cost memory when touched.
  static Result<Mapping> Anonymous(size_t length);
  // A shared view of `fd` (for instance a vCPU's kvm_run page), readable and writable.
  static Result<Mapping> Shared(int fd, size_t length);

  Mapping(Mapping&& other) noexcept;
  Mapping& operator=(Mapping&& other) noexcept;
  ~Mapping();

  std::byte* data() const { return data_; }
  size_t size() const { return size_; }
  std::span<std::byte> bytes() const { return {data_, size_}; }

 private:
  Mapping(std::byte* data, size_t size) : data_(data), size_(size) {}
  std::byte* data_;
  size_t size_;
};

}  // namespace skiff
