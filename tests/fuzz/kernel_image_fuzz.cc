#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

#include "arch/x86_64/boot/load_kernel.h"
#include "base/arith.h"
#include "base/guest_memory.h"
#include "base/unique_fd.h"

// A kernel file of any content is loaded or refused; what is loaded starts inside RAM. The first
// byte chooses the memory and whether there is an initrd, the rest is the file.
namespace skiff::x86_64 {
namespace {

GuestRange At(uint64_t start, uint64_t length) {
  return GuestRange::Make(GuestAddr(start), length).value();
}

Platform MakePlatform(uint8_t choice) {
  Platform platform;
  const uint64_t low_mib[] = {2, 32, 80, 3072};
  platform.low_ram = At(0, low_mib[choice % 4] * kMiB);
  if (choice % 4 == 3) platform.high_ram = At(4 * kGiB, 64 * kMiB);
  platform.mmio_window = At(3 * kGiB, 512 * kMiB);
  platform.ecam = At(0xe0000000, kMiB);
  return platform;
}

GuestMemory Allocate(const Platform& platform) {
  std::vector<GuestRange> ranges = {platform.low_ram};
  if (!platform.high_ram.empty()) ranges.push_back(platform.high_ram);
  return GuestMemory::Allocate(ranges).value();
}

// A file without a name, and the name by which it can be opened all the same.
UniqueFd MakeFile(const uint8_t* data, size_t size) {
  UniqueFd fd(memfd_create("kernel", MFD_CLOEXEC));
  if (!fd.valid() || write(fd.get(), data, size) != static_cast<ssize_t>(size)) std::abort();
  return fd;
}
std::string PathOf(const UniqueFd& fd) { return "/proc/self/fd/" + std::to_string(fd.get()); }

void Check(const GuestMemory& memory, const KernelEntry& entry) {
  const bool inside = memory.At(At(entry.ip.value(), 1)).ok();
  if (!inside || !memory.At(At(entry.boot_info.value(), 4096)).ok()) std::abort();
}

}  // namespace
}  // namespace skiff::x86_64

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace skiff;
  using namespace skiff::x86_64;
  if (size == 0) return 0;
  const Platform platform = MakePlatform(data[0]);
  const GuestMemory memory = Allocate(platform);
  const UniqueFd kernel = MakeFile(data + 1, size - 1);
  BootConfig boot{PathOf(kernel), std::nullopt, "console=ttyS0"};
  if (data[0] & 0x80) boot.initrd = boot.kernel;
  const auto entry = LoadKernel(memory, platform, GuestAddr(0xe0000), boot);
  if (entry.ok()) Check(memory, *entry);
  return 0;
}
