#include "disk/image_lock.h"

#include <fcntl.h>

#include <array>
#include <cerrno>
#include <span>

#include "base/log.h"

namespace skiff {
namespace {

// QEMU's permission numbers: what a user of an image may do with it.
constexpr off_t kConsistentRead = 0;
constexpr off_t kWrite = 1;
constexpr off_t kResize = 3;

constexpr off_t kDoes = 100;
constexpr off_t kForbids = 200;

struct flock OneByte(short type, off_t at) {
  struct flock lock {};
  lock.l_type = type;
  lock.l_whence = SEEK_SET;
  lock.l_start = at;
  lock.l_len = 1;
  return lock;
}

Result<void> Mark(int fd, off_t at) {
  struct flock lock = OneByte(F_RDLCK, at);
  while (fcntl(fd, F_OFD_SETLK, &lock) != 0) {
    if (errno != EINTR) return Error::FromErrno("fcntl(F_OFD_SETLK)");
  }
  return {};
}

// A write lock would collide with anybody's mark.
Result<bool> MarkedByOthers(int fd, off_t at) {
  struct flock lock = OneByte(F_WRLCK, at);
  if (fcntl(fd, F_OFD_GETLK, &lock) != 0) return Error::FromErrno("fcntl(F_OFD_GETLK)");
  return lock.l_type != F_UNLCK;
}

Result<bool> AnyMarked(int fd, off_t base, std::span<const off_t> permissions) {
  for (const off_t permission : permissions) {
    if (TRY(MarkedByOthers(fd, base + permission))) return true;
  }
  return false;
}

// True if the image is ours. Marks first and looks afterwards, so that of two who come at once
// at least one sees the other.
Result<bool> Take(int fd, bool writer) {
  static constexpr std::array kAll{kConsistentRead, kWrite, kResize};
  static constexpr std::array kExclusive{kWrite, kResize};
  const auto does = std::span<const off_t>(kAll).first(writer ? kAll.size() : 1);
  for (const off_t permission : does) TRY(Mark(fd, kDoes + permission));
  for (const off_t permission : kExclusive) TRY(Mark(fd, kForbids + permission));
  if (TRY(AnyMarked(fd, kForbids, does))) return false;
  return !TRY(AnyMarked(fd, kDoes, kExclusive));
}

bool LocksUnsupported(int os_error) {
  return os_error == ENOLCK || os_error == EOPNOTSUPP || os_error == EINVAL || os_error == ENOSYS;
}

}  // namespace

Result<void> LockImage(int fd, const std::string& path, bool writer) {
  Result<bool> taken = Take(fd, writer);
  if (!taken.ok() && LocksUnsupported(taken.error().os_error())) {
    LogWarning(path + ": the file system has no locks; make sure that nobody else uses this image");
    return {};
  }
  if (!taken.ok()) return std::move(taken).error().While(path);
  if (taken.value()) return {};
  return Invalid(path + (writer
                             ? ": in use by another program (it holds the image lock); stop that "
                               "one first, or let both use it with readonly=on"
                             : ": another program is writing to it (it holds the image lock); "
                               "stop that one first"));
}

}  // namespace skiff
