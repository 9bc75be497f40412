#include "disk/posix_file.h"

#include <fcntl.h>
#include <linux/falloc.h>
#include <linux/fs.h>
#include <sys/ioctl.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <array>

#include "base/arith.h"
#include "base/iovec_cursor.h"
#include "base/log.h"
#include "disk/aligned_file.h"
#include "disk/image_lock.h"
#include "disk/posix_open.h"
#include "disk/transfer.h"

namespace skiff {
namespace {

constexpr uint64_t kLargestFile = INT64_MAX;  // off_t

// Turns O_DIRECT on; the alignment it demands, or 1 where the file cannot do it.
Alignment GoDirect(int fd, const HostFacts& host) {
  const int flags = fcntl(fd, F_GETFL);
  if (flags < 0 || fcntl(fd, F_SETFL, flags | O_DIRECT) != 0) return {};
  if (const auto alignment = DirectAlignment(fd, host)) return *alignment;
  fcntl(fd, F_SETFL, flags);
  return {};
}

bool Unsupported(int os_error) {
  return os_error == EOPNOTSUPP || os_error == ENOTTY || os_error == ENOSYS;
}

// Only pages of zeroes: nothing is copied or kept for it until it is read.
std::span<std::byte> Zeroes() {
  alignas(4096) static std::array<std::byte, 64 * kKiB> zeroes;
  return zeroes;
}

}  // namespace

Result<std::unique_ptr<PosixFile>> PosixFile::Open(const std::string& path,
                                                   const PosixFileOptions& options) {
  UniqueFd fd = TRY(OpenDescriptor(path, options.read_only));
  if (options.lock) TRY(LockImage(fd.get(), path, /*writer=*/!options.read_only));
  Result<Parts> parts = Inspect(path, std::move(fd), options);
  if (!parts.ok()) return std::move(parts).error().While(path);
  return std::unique_ptr<PosixFile>(new PosixFile(std::move(parts).value()));
}

Result<PosixFile::Parts> PosixFile::Inspect(const std::string& path, UniqueFd fd,
                                            const PosixFileOptions& options) {
  const HostFacts host = TRY(AskHost(fd.get()));
  const uint64_t size = TRY(HostSize(fd.get(), host.block_device));
  FileFacts facts;
  if (options.direct) {
    facts.required = GoDirect(fd.get(), host);
    if (facts.required.block == 1)
      LogWarning(path + ": no direct I/O here; using the host's page cache instead");
  }
  facts.preferred.memory = facts.required.memory;
  facts.preferred.block = std::max(host.physical_block, facts.required.block);
  facts.discard_granularity = options.read_only ? 0 : host.discard_granularity;
  facts.quick_zero = host.block_device || host.discard_granularity != 0;
  facts.fixed_size = host.block_device;
  facts.read_only = options.read_only;
  return Parts{path, std::move(fd), host, facts, size, options.ignore_sync};
}

PosixFile::PosixFile(Parts parts)
    : path_(std::move(parts.path)),
      fd_(std::move(parts.fd)),
      host_(parts.host),
      facts_(parts.facts),
      ignore_sync_(parts.ignore_sync),
      size_(parts.size),
      nowait_reads_(!direct()),
      nowait_writes_(!direct()),
      punch_works_(host_.block_device || host_.discard_granularity != 0),
      device_discard_works_(host_.block_device),
      sync_([this] { return fdatasync(fd_.get()) == 0 ? 0 : errno; }) {}

Result<FileRange> PosixFile::CheckedRange(FileOffset at, uint64_t length) const {
  const FileRange range = TRY(FileRange::Make(at, length));
  if (range.end().value() > kLargestFile) return OutOfRange(path_ + ": past the end of any file");
  return range;
}

Error PosixFile::Failure(Error error, std::string_view what, FileRange range) const {
  return std::move(error).While(path_ + ": " + std::string(what) + " " +
                                std::to_string(range.length()) + " bytes at " +
                                std::to_string(range.start().value()));
}

Result<void> PosixFile::ReadAt(FileOffset at, std::span<const iovec> buffers) {
  const FileRange range = TRY(CheckedRange(at, TotalBytes(buffers)));
  const auto step = [&](const iovec* pieces, int count, uint64_t done) {
    return preadv(fd_.get(), pieces, count, static_cast<off_t>(at.value() + done));
  };
  Result<uint64_t> got = TransferAll(buffers, facts_.required.block, "preadv", step);
  if (!got.ok()) return Failure(std::move(got).error(), "reading", range);
  if (got.value() == range.length()) return {};
  IovecCursor rest(buffers);
  rest.Skip(got.value());
  rest.Zero(range.length() - got.value());
  return {};
}

Result<void> PosixFile::WriteAt(FileOffset at, std::span<const iovec> buffers) {
  const FileRange range = TRY(CheckedRange(at, TotalBytes(buffers)));
  if (facts_.fixed_size && range.end().value() > size())
    return Failure(OutOfRange("past the end of the device"), "writing", range);
  const auto step = [&](const iovec* pieces, int count, uint64_t done) {
    return pwritev(fd_.get(), pieces, count, static_cast<off_t>(at.value() + done));
  };
  Result<uint64_t> put = TransferAll(buffers, /*block=*/1, "pwritev", step);
  if (!put.ok()) return Failure(std::move(put).error(), "writing", range);
  if (put.value() != range.length())
    return Failure(Error::FromErrno("pwritev wrote nothing", EIO), "writing", range);
  NoteWritten(range.end());
  return {};
}

void PosixFile::NoteWritten(FileOffset end) {
  uint64_t known = size();
  while (known < end.value() && !size_.compare_exchange_weak(known, end.value())) {
  }
}

bool PosixFile::TryReadAt(FileOffset at, std::span<const iovec> buffers) {
  if (!nowait_reads_.load(std::memory_order_relaxed) || buffers.size() > IOV_MAX) return false;
  const Result<FileRange> range = CheckedRange(at, TotalBytes(buffers));
  if (!range.ok()) return false;
  const ssize_t got = preadv2(fd_.get(), buffers.data(), static_cast<int>(buffers.size()),
                              static_cast<off_t>(at.value()), host_.in_memory ? 0 : RWF_NOWAIT);
  if (got < 0) {
    if (Unsupported(errno)) nowait_reads_.store(false, std::memory_order_relaxed);
    return false;
  }
  const auto length = static_cast<uint64_t>(got);
  if (length == range->length()) return true;
  // Short: the rest is not in the page cache, or the file ends here.
  if (at.value() + length < size()) return false;
  IovecCursor rest(buffers);
  rest.Skip(length);
  rest.Zero(range->length() - length);
  return true;
}

bool PosixFile::TryWriteAt(FileOffset at, std::span<const iovec> buffers) {
  if (!nowait_writes_.load(std::memory_order_relaxed) || buffers.size() > IOV_MAX) return false;
  const Result<FileRange> range = CheckedRange(at, TotalBytes(buffers));
  if (!range.ok()) return false;
  const ssize_t put = pwritev2(fd_.get(), buffers.data(), static_cast<int>(buffers.size()),
                               static_cast<off_t>(at.value()), host_.in_memory ? 0 : RWF_NOWAIT);
  if (put < 0 && Unsupported(errno)) nowait_writes_.store(false, std::memory_order_relaxed);
  if (put < 0 || static_cast<uint64_t>(put) != range->length()) return false;
  NoteWritten(range->end());
  return true;
}

bool PosixFile::WholeDeviceBlocks(FileRange range) const {
  const uint64_t block = host_.logical_block;
  return IsAligned(range.start().value(), block) && IsAligned(range.length(), block);
}

Result<bool> PosixFile::Allocate(int mode, FileRange range, std::atomic<bool>& works) {
  if (!works.load(std::memory_order_relaxed) || !WholeDeviceBlocks(range)) return false;
  while (fallocate(fd_.get(), mode, static_cast<off_t>(range.start().value()),
                   static_cast<off_t>(range.length())) != 0) {
    if (errno == EINTR) continue;
    if (!Unsupported(errno)) return Error::FromErrno("fallocate");
    works.store(false, std::memory_order_relaxed);
    return false;
  }
  return true;
}

// fallocate() treats block devices like files: a hole there is BLKZEROOUT with unmapping.
Result<void> PosixFile::Zero(FileRange range, bool may_unmap) {
  if (range.empty()) return {};
  range = TRY(CheckedRange(range.start(), range.length()));
  if (facts_.fixed_size && range.end().value() > size())
    return Failure(OutOfRange("past the end of the device"), "zeroing", range);
  if (may_unmap) {
    // May leave the file shorter than range.end(), where it reads as zeroes just as well.
    Result<bool> done = Allocate(FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, range, punch_works_);
    if (!done.ok()) return Failure(std::move(done).error(), "zeroing", range);
    if (done.value()) return {};
  }
  const int keep_size = facts_.fixed_size ? FALLOC_FL_KEEP_SIZE : 0;
  Result<bool> done = Allocate(FALLOC_FL_ZERO_RANGE | keep_size, range, zero_range_works_);
  if (!done.ok()) return Failure(std::move(done).error(), "zeroing", range);
  if (!done.value()) return WriteZeroes(range);
  NoteWritten(range.end());
  return {};
}

Result<void> PosixFile::WriteZeroes(FileRange range) {
  std::array<iovec, 16> buffers;
  while (!range.empty()) {
    uint64_t length = 0;
    size_t count = 0;
    for (; count < buffers.size() && length < range.length(); ++count) {
      buffers[count] = {Zeroes().data(),
                        std::min<uint64_t>(Zeroes().size(), range.length() - length)};
      length += buffers[count].iov_len;
    }
    TRY(WriteAt(range.start(), std::span(buffers).first(count)));
    range = range.Suffix(length);
  }
  return {};
}

Result<void> PosixFile::Discard(FileRange range) {
  if (range.empty() || facts_.discard_granularity == 0) return {};
  range = TRY(CheckedRange(range.start(), range.length()));
  if (!facts_.fixed_size) {
    Result<bool> done = Allocate(FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, range, punch_works_);
    if (!done.ok()) return Failure(std::move(done).error(), "discarding", range);
    return {};
  }
  if (!device_discard_works_.load(std::memory_order_relaxed) || !WholeDeviceBlocks(range))
    return {};
  if (range.end().value() > size())
    return Failure(OutOfRange("past the end of the device"), "discarding", range);
  std::array<uint64_t, 2> start_and_length{range.start().value(), range.length()};
  while (ioctl(fd_.get(), BLKDISCARD, start_and_length.data()) != 0) {
    if (errno == EINTR) continue;
    if (!Unsupported(errno)) return Failure(Error::FromErrno("BLKDISCARD"), "discarding", range);
    device_discard_works_.store(false, std::memory_order_relaxed);
    return {};
  }
  return {};
}

Result<void> PosixFile::Resize(uint64_t wanted) {
  const FileRange range = TRY(CheckedRange(FileOffset(0), wanted));
  if (facts_.fixed_size) {
    const uint64_t now = TRY(HostSize(fd_.get(), /*block_device=*/true));
    if (now < wanted) return Failure(OutOfRange("the device is smaller"), "resizing to", range);
    size_ = now;
    return {};
  }
  while (ftruncate(fd_.get(), static_cast<off_t>(wanted)) != 0) {
    if (errno != EINTR) return Failure(Error::FromErrno("ftruncate"), "resizing to", range);
  }
  size_ = wanted;
  return {};
}

Result<void> PosixFile::Sync() {
  if (ignore_sync_) return {};
  Result<void> done = sync_.Run();
  if (!done.ok()) return std::move(done).error().While(path_);
  return {};
}

Result<FileStatus> PosixFile::Status(FileRange range) {
  range = TRY(CheckedRange(range.start(), range.length()));
  if (facts_.fixed_size || range.empty()) return FileStatus{true, range.length()};
  const auto start = static_cast<off_t>(range.start().value());
  const off_t data = lseek(fd_.get(), start, SEEK_DATA);
  if (data < 0 && errno == ENXIO) return FileStatus{false, range.length()};  // no data behind it
  if (data < 0) return FileStatus{true, range.length()};                     // the host cannot tell
  if (data > start)
    return FileStatus{false, std::min(range.length(), static_cast<uint64_t>(data - start))};
  const off_t hole = lseek(fd_.get(), start, SEEK_HOLE);
  if (hole <= start) return FileStatus{true, range.length()};
  return FileStatus{true, std::min(range.length(), static_cast<uint64_t>(hole - start))};
}

Result<std::unique_ptr<File>> OpenHostFile(const std::string& path,
                                           const PosixFileOptions& options) {
  std::unique_ptr<File> file = TRY(PosixFile::Open(path, options));
  const Alignment rule = file->facts().required;
  if (rule.block > 1 || rule.memory > 1) file = std::make_unique<AlignedFile>(std::move(file));
  return file;
}

}  // namespace skiff
