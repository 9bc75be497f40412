#pragma once

#include <array>
#include <cstddef>
#include <cstdlib>
#include <utility>

namespace skiff {

// Up to `N` values without heap memory. Adding to a full one is our bug and aborts.
template <typename T, size_t N>
class StaticVector {
 public:
  void push_back(T value) {
    if (full()) std::abort();
    values_[size_++] = std::move(value);
  }

  size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  bool full() const { return size_ == N; }
  T& back() { return values_[size_ - 1]; }  // not of an empty one
  const T& operator[](size_t index) const { return values_[index]; }
  const T* begin() const { return values_.data(); }
  const T* end() const { return values_.data() + size_; }

 private:
  std::array<T, N> values_{};
  size_t size_ = 0;
};

}  // namespace skiff
