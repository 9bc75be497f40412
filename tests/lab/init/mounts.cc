#include "tests/lab/init/mounts.h"

#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <array>

namespace skiff::lab {
namespace {

struct MountPoint {
  const char* source;
  const char* target;
  const char* type;
  unsigned long flags;
  const char* options;
};

Result<void> MakeDirectories(const std::string& path) {
  for (size_t end = path.find('/', 1);; end = path.find('/', end + 1)) {
    const std::string part = path.substr(0, end);
    if (mkdir(part.c_str(), 0755) != 0 && errno != EEXIST) {
      return Error::FromErrno("making the directory " + part);
    }
    if (end == std::string::npos) return {};
  }
}

Result<void> Mount(const MountPoint& point) {
  TRY(MakeDirectories(point.target));
  if (mount(point.source, point.target, point.type, point.flags, point.options) != 0) {
    return Error::FromErrno(std::string("mounting ") + point.source + " on " + point.target);
  }
  return {};
}

Result<void> MakeLink(const char* target, const char* path) {
  if (symlink(target, path) != 0 && errno != EEXIST) {
    return Error::FromErrno(std::string("linking ") + path);
  }
  return {};
}

// What is under /host here is under / after the switch.
//
// The tmpfs files take huge pages as they grow, for guests' memory and disks. Sizes are shares of
// the machine's memory, which nothing reserves: the last one to take a page wins.
constexpr std::array kHostTree = {
    MountPoint{"host", "/lower", "9p", MS_RDONLY,
               "trans=virtio,version=9p2000.L,msize=512000,cache=loose"},
    MountPoint{"upper", "/upper", "tmpfs", 0, "size=75%,huge=within_size"},
};
constexpr MountPoint kOverlay{"host", "/host", "overlay", 0,
                              "lowerdir=/lower,upperdir=/upper/tree,workdir=/upper/work"};
constexpr std::array kSystem = {
    MountPoint{"/proc", "/host/proc", nullptr, MS_MOVE, nullptr},
    MountPoint{"/sys", "/host/sys", nullptr, MS_MOVE, nullptr},
    MountPoint{"/dev", "/host/dev", nullptr, MS_MOVE, nullptr},
    MountPoint{"devpts", "/host/dev/pts", "devpts", 0, "ptmxmode=0666"},
    MountPoint{"shm", "/host/dev/shm", "tmpfs", 0, "size=75%,huge=within_size,mode=1777"},
    MountPoint{"run", "/host/run", "tmpfs", 0, "mode=755"},
    MountPoint{"cgroup", "/host/sys/fs/cgroup", "cgroup2", 0, nullptr},
    // KVM counts its exits here.
    MountPoint{"debugfs", "/host/sys/kernel/debug", "debugfs", 0, nullptr},
};

// A chroot() alone would leave the old root above the new one; processes in it may not make user
// namespaces. So the tree is moved onto the root first.
Result<void> MakeRoot(const char* tree) {
  if (chdir(tree) != 0 || mount(".", "/", nullptr, MS_MOVE, nullptr) != 0 || chroot(".") != 0 ||
      chdir("/") != 0) {
    return Error::FromErrno(std::string("making ") + tree + " the root");
  }
  return {};
}

}  // namespace

Result<void> MountEarly() {
  TRY(Mount({"proc", "/proc", "proc", 0, nullptr}));
  TRY(Mount({"sysfs", "/sys", "sysfs", 0, nullptr}));
  return Mount({"devtmpfs", "/dev", "devtmpfs", 0, nullptr});
}

Result<void> SwitchToHostTree() {
  for (const MountPoint& point : kHostTree) TRY(Mount(point));
  TRY(MakeDirectories("/upper/tree"));
  TRY(MakeDirectories("/upper/work"));
  TRY(Mount(kOverlay));
  for (const MountPoint& point : kSystem) TRY(Mount(point));
  TRY(MakeRoot("/host"));
  TRY(MakeLink("/proc/self/fd", "/dev/fd"));
  TRY(MakeLink("/proc/self/fd/0", "/dev/stdin"));
  TRY(MakeLink("/proc/self/fd/1", "/dev/stdout"));
  return MakeLink("/proc/self/fd/2", "/dev/stderr");
}

Result<void> MountOut(const std::string& path) {
  // cache=mmap keeps nothing but what mmap() needs; access=any: the host's permissions decide.
  return Mount({"out", path.c_str(), "9p", 0,
                "trans=virtio,version=9p2000.L,msize=512000,cache=mmap,access=any"});
}

Result<void> MountModules(const std::string& path) {
  utsname kernel{};
  uname(&kernel);
  const std::string modules = std::string("/lib/modules/") + kernel.release;
  return Mount({path.c_str(), modules.c_str(), nullptr, MS_BIND, nullptr});
}

}  // namespace skiff::lab
