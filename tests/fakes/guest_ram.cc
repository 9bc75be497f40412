#include "tests/fakes/guest_ram.h"

#include <array>
#include <cstdlib>

#include "base/arith.h"

namespace skiff::fakes {
namespace {

GuestMemory MakeMemory(uint64_t bytes) {
  const std::array<GuestRange, 1> ranges{
      GuestRange::Make(GuestAddr(GuestRam::kStart), bytes).value()};
  return std::move(GuestMemory::Allocate(ranges)).value();
}

}  // namespace

GuestRam::GuestRam(uint64_t bytes) : memory_(MakeMemory(bytes)), end_(kStart + bytes) {}

GuestAddr GuestRam::Allocate(uint64_t bytes, uint64_t alignment) {
  const GuestAddr start(AlignUp(next_.value(), alignment));
  next_ = start + bytes;
  if (next_ > end_) std::abort();
  return start;
}

GuestAddr GuestRam::Place(std::span<const std::byte> bytes) {
  const GuestAddr address = Allocate(bytes.size());
  Write(address, bytes);
  return address;
}

void GuestRam::Write(GuestAddr address, std::span<const std::byte> bytes) const {
  const auto range = GuestRange::Make(address, bytes.size());
  memory_.At(range.value()).value().CopyFrom(bytes);
}

std::vector<std::byte> GuestRam::Read(GuestAddr address, size_t bytes) const {
  std::vector<std::byte> copy(bytes);
  const auto range = GuestRange::Make(address, bytes);
  memory_.At(range.value()).value().CopyTo(copy);
  return copy;
}

void GuestRam::Fill(GuestAddr address, size_t bytes, uint8_t value) const {
  Write(address, std::vector<std::byte>(bytes, std::byte{value}));
}

}  // namespace skiff::fakes
