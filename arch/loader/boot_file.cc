#include "arch/loader/boot_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <optional>

#include "base/arith.h"

namespace skiff {

namespace {

const char* KindOf(mode_t mode) {
  if (S_ISDIR(mode)) return "is a directory";
  if (S_ISBLK(mode) || S_ISCHR(mode)) return "is a device";
  if (S_ISFIFO(mode)) return "is a pipe";
  if (S_ISSOCK(mode)) return "is a socket";
  return nullptr;
}

// The kernel transfers at most 2 GiB less a page at once, hence the loop.
Result<void> ReadFully(int fd, uint64_t offset, iovec target, const std::string& label) {
  auto* data = static_cast<std::byte*>(target.iov_base);
  size_t done = 0;
  while (done < target.iov_len) {
    const ssize_t got =
        pread(fd, data + done, target.iov_len - done, static_cast<off_t>(offset + done));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return Error::FromErrno("reading").While(label);
    if (got == 0) {
      return Corrupt(
          fmt::format("{}: the file ends at {} bytes, but {} are needed: it is truncated", label,
                      offset + done, offset + target.iov_len));
    }
    done += static_cast<size_t>(got);
  }
  return {};
}

}  // namespace

Result<BootFile> BootFile::Open(std::string role, std::string path) {
  const std::string label = std::move(role) + " " + path;
  // Not blocking, for a pipe that nobody writes to.
  UniqueFd fd(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  if (!fd.valid()) return Error::FromErrno("opening").While(label);
  struct stat status {};
  if (fstat(fd.get(), &status) != 0) return Error::FromErrno("fstat").While(label);
  if (const char* kind = KindOf(status.st_mode)) {
    return Unsupported(fmt::format("{}: {}, not a file", label, kind));
  }
  if (status.st_size == 0) return Unsupported(fmt::format("{}: the file is empty", label));
  return BootFile(std::move(fd), static_cast<uint64_t>(status.st_size), label);
}

Result<void> BootFile::ReadChecked(uint64_t offset, iovec target) const {
  const std::optional<uint64_t> end = CheckedAdd(offset, target.iov_len);
  if (!end || *end > size_) {
    return Corrupt(
        fmt::format("{}: the file has {} bytes, but {} are needed at {}: it is truncated", label_,
                    size_, target.iov_len, offset));
  }
  return ReadFully(fd_.get(), offset, target, label_);
}

Result<void> BootFile::ReadAt(uint64_t offset, std::span<std::byte> out) const {
  return ReadChecked(offset, {out.data(), out.size()});
}

Result<void> BootFile::ReadInto(uint64_t offset, const GuestSpan& out) const {
  return ReadChecked(offset, out.ForKernel());
}

Result<size_t> BootFile::ReadPrefix(std::span<std::byte> bytes) const {
  const size_t count = static_cast<size_t>(std::min<uint64_t>(bytes.size(), size_));
  TRY(ReadAt(0, bytes.first(count)));
  return count;
}

}  // namespace skiff
