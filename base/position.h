#pragma once

#include <compare>
#include <cstdint>

#include "base/result.h"

namespace skiff {

// A byte position in one particular address space. Positions of different
// spaces do not mix; the distance between two positions is a plain uint64_t.
template <typename Space>
class Position {
 public:
  constexpr Position() = default;
  constexpr explicit Position(uint64_t value) : value_(value) {}
  constexpr uint64_t value() const { return value_; }
  constexpr auto operator<=>(const Position&) const = default;

  // Moves on by `bytes`; the caller knows that the sum does not wrap (it stays inside a Range).
  constexpr Position operator+(uint64_t bytes) const { return Position(value_ + bytes); }

 private:
  uint64_t value_ = 0;
};

using GuestAddr = Position<struct GuestPhysicalSpace>;  // guest physical memory
using DiskOffset = Position<struct VirtualDiskSpace>;   // the disk as the guest sees it
using FileOffset = Position<struct HostFileSpace>;      // the image file on the host

// A non-wrapping interval. Only Make() creates one, so code that holds a Range
// may compute end() without checking again.
template <typename Pos>
class Range {
 public:
  constexpr Range() = default;  // empty, at position 0

  static Result<Range> Make(Pos start, uint64_t length) {
    if (uint64_t end; __builtin_add_overflow(start.value(), length, &end))
      return OutOfRange("range wraps around");
    return Range(start, length);
  }

  constexpr Pos start() const { return start_; }
  constexpr uint64_t length() const { return length_; }
  constexpr Pos end() const { return Pos(start_.value() + length_); }
  constexpr bool empty() const { return length_ == 0; }
  constexpr bool Contains(const Range& inner) const {
    return start_ <= inner.start_ && inner.end() <= end();
  }
  constexpr bool Overlaps(const Range& other) const {
    return start_ < other.end() && other.start_ < end();
  }
  constexpr bool Contains(Pos position) const { return start_ <= position && position < end(); }
  // The first `count` bytes, or all of them if there are fewer.
  constexpr Range Prefix(uint64_t count) const {
    return Range(start_, count < length_ ? count : length_);
  }
  // What is left after the first `count` bytes; empty at end() if there are fewer.
  constexpr Range Suffix(uint64_t count) const {
    const uint64_t skip = count < length_ ? count : length_;
    return Range(start_ + skip, length_ - skip);
  }
  // Extends this one by `next`, if that starts where this one ends.
  constexpr bool Append(const Range& next) {
    if (next.start_ != end()) return false;
    length_ += next.length_;
    return true;
  }

 private:
  constexpr Range(Pos start, uint64_t length) : start_(start), length_(length) {}
  Pos start_;
  uint64_t length_ = 0;
};

using GuestRange = Range<GuestAddr>;
using DiskRange = Range<DiskOffset>;
using FileRange = Range<FileOffset>;

}  // namespace skiff
