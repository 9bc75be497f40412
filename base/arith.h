#pragma once

#include <bit>
#include <concepts>
#include <cstdint>
#include <optional>

namespace skiff {

template <std::unsigned_integral T>
constexpr bool IsPowerOfTwo(T value) {
  return std::has_single_bit(value);
}

// `alignment` is a power of two. AlignUp's result must fit into T.
template <std::unsigned_integral T>
constexpr T AlignDown(T value, std::type_identity_t<T> alignment) {
  return static_cast<T>(value & ~(alignment - 1));
}
template <std::unsigned_integral T>
constexpr T AlignUp(T value, std::type_identity_t<T> alignment) {
  return static_cast<T>((value + alignment - 1) & ~(alignment - 1));
}
template <std::unsigned_integral T>
constexpr bool IsAligned(T value, std::type_identity_t<T> alignment) {
  return (value & (alignment - 1)) == 0;
}

template <std::unsigned_integral T>
constexpr T DivideRoundingUp(T value, std::type_identity_t<T> divisor) {
  return static_cast<T>(value / divisor + (value % divisor != 0));
}

// nullopt where the exact result does not fit.
constexpr std::optional<uint64_t> CheckedAdd(uint64_t a, uint64_t b) {
  uint64_t sum = 0;
  if (__builtin_add_overflow(a, b, &sum)) return std::nullopt;
  return sum;
}
constexpr std::optional<uint64_t> CheckedMultiply(uint64_t a, uint64_t b) {
  uint64_t product = 0;
  if (__builtin_mul_overflow(a, b, &product)) return std::nullopt;
  return product;
}

inline constexpr uint64_t kKiB = uint64_t{1} << 10;
inline constexpr uint64_t kMiB = uint64_t{1} << 20;
inline constexpr uint64_t kGiB = uint64_t{1} << 30;

}  // namespace skiff
