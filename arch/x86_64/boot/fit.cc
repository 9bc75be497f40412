#include "arch/x86_64/boot/fit.h"

#include <fmt/format.h>

#include <algorithm>
#include <span>
#include <vector>

#include "arch/loader/initrd.h"
#include "arch/x86_64/boot/low_memory.h"
#include "base/arith.h"

namespace skiff::x86_64 {

namespace {

constexpr uint64_t kPageBytes = 4 * kKiB;

uint64_t MebibytesUp(uint64_t bytes) { return DivideRoundingUp(bytes, kMiB); }

uint64_t RamBytes(const Platform& platform) {
  return platform.low_ram.length() + platform.high_ram.length();
}

std::optional<GuestRange> Between(GuestAddr start, GuestAddr end) {
  if (end <= start) return std::nullopt;
  return GuestRange::Make(start, end.value() - start.value()).value();
}

// RAM that the kernel does not claim, best first: above it, above 4 GiB, below it.
std::vector<GuestRange> Rooms(const Platform& platform, const KernelNeeds& needs) {
  const GuestAddr low_end = std::min(platform.low_ram.end(), needs.initrd_end);
  std::vector<GuestRange> rooms;
  if (auto above = Between(needs.footprint.end(), low_end)) rooms.push_back(*above);
  if (needs.initrd_in_high_ram && !platform.high_ram.empty()) rooms.push_back(platform.high_ram);
  if (auto below = Between(kOneMiB, std::min(needs.footprint.start(), low_end))) {
    rooms.push_back(*below);
  }
  return rooms;
}

}  // namespace

Result<void> CheckKernelFits(const Platform& platform, const BootFile& kernel,
                             const KernelNeeds& needs) {
  if (needs.footprint.start() < kOneMiB) {
    return Unsupported(fmt::format("{}: wants to be loaded at {:#x}, below 1 MiB", kernel.label(),
                                   needs.footprint.start().value()));
  }
  if (platform.low_ram.Contains(needs.footprint)) return {};
  if (needs.footprint.end() > platform.mmio_window.start() && !platform.mmio_window.empty()) {
    return Unsupported(fmt::format(
        "{}: needs memory from {:#x} to {:#x}, but RAM ends at {:#x} for the PCI devices",
        kernel.label(), needs.footprint.start().value(), needs.footprint.end().value(),
        platform.mmio_window.start().value()));
  }
  const uint64_t needed = MebibytesUp(needs.footprint.end().value());
  return Invalid(fmt::format(
      "{}: needs {} MiB of memory to start ({} MiB from {} MiB on), but the guest has {} MiB: give "
      "it at least {} MiB",
      kernel.label(), needed, MebibytesUp(needs.footprint.length()),
      needs.footprint.start().value() / kMiB, RamBytes(platform) / kMiB, needed));
}

Result<GuestRange> FindRoomForInitrd(const Platform& platform, const BootFile& kernel,
                                     const KernelNeeds& needs, const BootFile& initrd) {
  if (const auto place = PlaceInitrd(initrd.size(), Rooms(platform, needs))) return *place;
  const uint64_t kernel_end = AlignUp(needs.footprint.end().value(), kPageBytes);
  const std::optional<uint64_t> needed = CheckedAdd(kernel_end, initrd.size());
  const std::string sizes =
      fmt::format("{}: {} MiB do not fit beside {}, which takes {} MiB", initrd.label(),
                  MebibytesUp(initrd.size()), kernel.label(), MebibytesUp(kernel_end));
  const GuestAddr limit = platform.mmio_window.empty()
                              ? needs.initrd_end
                              : std::min(needs.initrd_end, platform.mmio_window.start());
  if (!needed || AlignUp(*needed, kPageBytes) > limit.value()) {
    return Invalid(fmt::format("{}, below {} MiB, where this kernel looks for it: make it smaller",
                               sizes, limit.value() / kMiB));
  }
  return Invalid(fmt::format("{}, in the guest's {} MiB of memory: give it at least {} MiB", sizes,
                             RamBytes(platform) / kMiB, MebibytesUp(AlignUp(*needed, kPageBytes))));
}

Result<void> CheckCommandLine(const BootFile& kernel, const KernelNeeds& needs,
                              std::string_view command_line) {
  if (command_line.find('\0') != std::string_view::npos) {
    return Invalid("the kernel command line contains a NUL byte");
  }
  const uint64_t limit = std::min(needs.command_line_bytes, kCommandLineBytes - 1);
  if (command_line.size() <= limit) return {};
  return Invalid(
      fmt::format("{}: the kernel command line has {} bytes, but this kernel takes at most {}",
                  kernel.label(), command_line.size(), limit));
}

Result<void> WriteCommandLine(const GuestMemory& memory, std::string_view command_line) {
  const auto range = TRY(GuestRange::Make(kCommandLine, command_line.size()));
  const GuestSpan span = TRY(memory.At(range));
  span.CopyFrom(std::as_bytes(std::span(command_line)));
  return memory.Write<uint8_t>(range.end(), 0);
}

}  // namespace skiff::x86_64
