#include "disk/posix_open.h"

#include <fcntl.h>
#include <linux/fs.h>
#include <sys/ioctl.h>
#include <sys/stat.h>

#include <cstring>

namespace skiff {
namespace {

Error Refusal(const std::string& path, std::string_view what_and_remedy) {
  return Invalid(path + ": " + std::string(what_and_remedy));
}

Error OpenError(const std::string& path, std::string_view remedy, int os_error) {
  return Error::FromErrno(path, os_error).Advising(remedy);
}

const char* KindName(mode_t mode) {
  if (S_ISDIR(mode)) return "a directory";
  if (S_ISFIFO(mode)) return "a FIFO";
  if (S_ISSOCK(mode)) return "a socket";
  return "a character device";
}

// Linux lets such a device be opened for writing and then fails each write.
bool IsWriteProtected(int fd) {
  int read_only = 0;
  return ioctl(fd, BLKROGET, &read_only) == 0 && read_only != 0;
}

bool Readable(const std::string& path) {
  return UniqueFd(open(path.c_str(), O_RDONLY | O_CLOEXEC)).valid();
}

Error ExplainOpen(const std::string& path, bool read_only, int os_error) {
  switch (os_error) {
    case ENOENT:
      return OpenError(path, "check the path, or make an empty disk first: truncate -s 10G " + path,
                       os_error);
    case EACCES:
    case EPERM:
    case EROFS:
      if (!read_only && Readable(path))
        return OpenError(path, "it can be read, so readonly=on would work", os_error);
      return OpenError(path, "use an account that may open it, or change its permissions",
                       os_error);
    case EBUSY:
      return OpenError(
          path, "the host uses this device (mounted, swap, LVM, RAID); release it first", os_error);
    case ENXIO:
    case ENOMEDIUM:
      return OpenError(path, "there is no device or no medium behind this name", os_error);
    default:
      return OpenError(path, "it cannot be opened as a disk", os_error);
  }
}

}  // namespace

Result<UniqueFd> OpenDescriptor(const std::string& path, bool read_only) {
  struct stat status {};
  if (stat(path.c_str(), &status) != 0) return ExplainOpen(path, read_only, errno);
  const bool block_device = S_ISBLK(status.st_mode);
  if (!block_device && !S_ISREG(status.st_mode))
    return Refusal(path, std::string("is ") + KindName(status.st_mode) +
                             "; a disk must be a regular file or a block device");
  const int claim = block_device && !read_only ? O_EXCL : 0;
  UniqueFd fd(open(path.c_str(), (read_only ? O_RDONLY : O_RDWR) | O_CLOEXEC | claim));
  if (!fd.valid()) return ExplainOpen(path, read_only, errno);
  if (block_device && !read_only && IsWriteProtected(fd.get()))
    return ExplainOpen(path, read_only, EROFS);
  return fd;
}

}  // namespace skiff
