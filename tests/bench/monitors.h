#pragma once

#include <string>
#include <vector>

namespace skiff::bench {

// What every monitor gets: the same files, by path.
struct GuestFiles {
  std::string kernel;  // bzImage
  std::string initrd;  // guest-images/tiny
  std::string disk;    // raw
};

struct Monitor {
  std::string name;
  std::vector<std::string> command;
};

// The kernel command line up to ` -- `, the one that skiff makes of `--append quiet` and one disk.
// Guests print theirs (guest_run.h), so that a difference is noticed.
inline constexpr const char* kKernelLine =
    "console=ttyS0 panic=-1 reboot=panic_warm root=/dev/vda rw quiet";

// What the guest does after /init has begun.
inline constexpr const char* kGuestScript = "cat /proc/cmdline; sleep 600";

// skiff and its peers, each with a guest of 1 vCPU, 512 MiB, a virtio disk, a virtio RNG and a
// serial console on stdout. skiff is the first.
std::vector<Monitor> Monitors(const std::string& skiff, const std::string& qemu,
                              const GuestFiles& files);

}  // namespace skiff::bench
