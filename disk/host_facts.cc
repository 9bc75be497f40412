#include "disk/host_facts.h"

#include <fcntl.h>
#include <linux/falloc.h>
#include <linux/fs.h>
#include <linux/magic.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <memory>
#include <string>

#include "base/arith.h"
#include "base/unique_fd.h"

namespace skiff {
namespace {

constexpr uint32_t kSector = 512;
constexpr uint32_t kPage = 4096;

// A number from the block queue's folder in sysfs. A partition has none of its own: its disk's.
std::optional<uint64_t> QueueNumber(dev_t device, const std::string& name) {
  const std::string folder =
      "/sys/dev/block/" + std::to_string(major(device)) + ":" + std::to_string(minor(device));
  for (const char* queue : {"/queue/", "/../queue/"}) {
    const UniqueFd fd(open((folder + queue + name).c_str(), O_RDONLY | O_CLOEXEC));
    if (!fd.valid()) continue;
    char text[32];
    const ssize_t length = read(fd.get(), text, sizeof text);
    uint64_t number = 0;
    if (length > 0 && std::from_chars(text, text + length, number).ec == std::errc()) return number;
  }
  return std::nullopt;
}

uint32_t AsBlock(uint64_t bytes, uint32_t fallback) {
  return bytes >= kSector && bytes <= 64 * kKiB && IsPowerOfTwo(bytes)
             ? static_cast<uint32_t>(bytes)
             : fallback;
}

// Without sysfs the device is asked at the first discard.
uint32_t DeviceDiscardGranularity(dev_t device, uint32_t logical_block) {
  if (QueueNumber(device, "discard_max_bytes").value_or(1) == 0) return 0;
  const uint64_t granularity = QueueNumber(device, "discard_granularity").value_or(logical_block);
  if (granularity > UINT32_MAX || !IsPowerOfTwo(granularity)) return logical_block;
  return std::max(static_cast<uint32_t>(granularity), logical_block);
}

HostFacts DeviceFacts(int fd, dev_t device) {
  int logical = 0;
  unsigned int physical = 0;
  if (ioctl(fd, BLKSSZGET, &logical) != 0) logical = 0;
  if (ioctl(fd, BLKPBSZGET, &physical) != 0) physical = 0;
  HostFacts facts;
  facts.block_device = true;
  facts.logical_block = AsBlock(static_cast<uint64_t>(logical), kSector);
  facts.physical_block = std::max(facts.logical_block, AsBlock(physical, kSector));
  facts.discard_granularity = DeviceDiscardGranularity(device, facts.logical_block);
  return facts;
}

// A hole behind the end of the file changes nothing, but is refused where holes are unknown.
bool PunchesHoles(int fd, const struct stat& status) {
  const off_t end = static_cast<off_t>(AlignUp(static_cast<uint64_t>(status.st_size), kPage));
  return fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, end, kPage) == 0;
}

HostFacts RegularFacts(int fd, const struct stat& status) {
  HostFacts facts;
  struct statfs file_system {};
  if (fstatfs(fd, &file_system) == 0) facts.in_memory = file_system.f_type == TMPFS_MAGIC;
  const uint32_t unit = AsBlock(static_cast<uint64_t>(status.st_blksize), kPage);
  facts.physical_block = std::min(unit, kPage);
  facts.discard_granularity = PunchesHoles(fd, status) ? unit : 0;
  return facts;
}

std::optional<Alignment> FromStatx(int fd, bool& no_direct_io) {
  struct statx status {};
  if (statx(fd, "", AT_EMPTY_PATH, STATX_DIOALIGN, &status) != 0) return std::nullopt;
  if ((status.stx_mask & STATX_DIOALIGN) == 0) return std::nullopt;
  no_direct_io = status.stx_dio_offset_align == 0;
  if (!IsPowerOfTwo(status.stx_dio_mem_align) || !IsPowerOfTwo(status.stx_dio_offset_align))
    return std::nullopt;
  return Alignment{status.stx_dio_mem_align, status.stx_dio_offset_align};
}

bool ReadsAt(int fd, std::byte* memory, uint32_t length) {
  return pread(fd, memory, length, 0) >= 0;
}

// Whether direct I/O works at all. Some file systems (overlayfs over one without it) let O_DIRECT
// be set and refuse every transfer.
bool AcceptsPages(int fd) {
  const std::unique_ptr<void, void (*)(void*)> page(std::aligned_alloc(kPage, kPage), std::free);
  return page == nullptr || ReadsAt(fd, static_cast<std::byte*>(page.get()), kPage) ||
         errno != EINVAL;
}

}  // namespace

Result<HostFacts> AskHost(int fd) {
  struct stat status {};
  if (fstat(fd, &status) != 0) return Error::FromErrno("fstat");
  return S_ISBLK(status.st_mode) ? DeviceFacts(fd, status.st_rdev) : RegularFacts(fd, status);
}

Result<uint64_t> HostSize(int fd, bool block_device) {
  if (block_device) {
    uint64_t size = 0;
    if (ioctl(fd, BLKGETSIZE64, &size) != 0) return Error::FromErrno("ioctl(BLKGETSIZE64)");
    return size;
  }
  struct stat status {};
  if (fstat(fd, &status) != 0) return Error::FromErrno("fstat");
  return static_cast<uint64_t>(status.st_size);
}

std::optional<Alignment> DirectAlignment(int fd, const HostFacts& facts) {
  bool no_direct_io = false;
  if (const auto reported = FromStatx(fd, no_direct_io)) return reported;
  if (no_direct_io) return std::nullopt;
  if (facts.block_device) return Alignment{facts.logical_block, facts.logical_block};
  if (const auto found = ProbeDirectAlignment(fd)) return found;
  if (!AcceptsPages(fd)) return std::nullopt;
  return Alignment{kPage, kPage};
}

std::optional<Alignment> ProbeDirectAlignment(int fd) {
  // At offset 0 a file that ends there accepts anything, so only one with data tells.
  struct stat status {};
  if (fstat(fd, &status) != 0 || status.st_size < kPage) return std::nullopt;
  const std::unique_ptr<void, void (*)(void*)> memory(std::aligned_alloc(kPage, 2 * kPage),
                                                      std::free);
  auto* const bytes = static_cast<std::byte*>(memory.get());
  if (bytes == nullptr) return std::nullopt;
  for (uint32_t block = kSector; block <= kPage; block *= 2) {
    if (!ReadsAt(fd, bytes, block)) continue;
    for (uint32_t address = kSector; address <= kPage; address *= 2) {
      if (ReadsAt(fd, bytes + address % kPage, block)) return Alignment{address, block};
    }
  }
  return std::nullopt;
}

}  // namespace skiff
