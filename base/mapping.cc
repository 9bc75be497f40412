#include "base/mapping.h"

#include <sys/mman.h>

#include <utility>

namespace skiff {
namespace {

Result<std::byte*> Map(size_t length, int flags, int fd) {
  void* address = mmap(nullptr, length, PROT_READ | PROT_WRITE, flags, fd, 0);
  if (address == MAP_FAILED) return Error::FromErrno("mmap");
  return static_cast<std::byte*>(address);
}

}  // namespace

Result<Mapping> Mapping::Anonymous(size_t length) {
  return Mapping(TRY(Map(length, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1)), length);
}

Result<Mapping> Mapping::Shared(int fd, size_t length) {
  return Mapping(TRY(Map(length, MAP_SHARED, fd)), length);
}

Mapping::Mapping(Mapping&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}

Mapping& Mapping::operator=(Mapping&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(size_, other.size_);
  return *this;
}

Mapping::~Mapping() {
  if (data_) munmap(data_, size_);
}

}  // namespace skiff
