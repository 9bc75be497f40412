#pragma once

#include <atomic>
#include <memory>
#include <string>

#include "base/unique_fd.h"
#include "disk/file.h"
#include "disk/group_sync.h"
#include "disk/host_facts.h"

namespace skiff {

struct PosixFileOptions {
  bool read_only = false;
  bool direct = false;       // past the page cache (O_DIRECT) where the file has that
  bool ignore_sync = false;  // Sync() does nothing
  bool lock = true;          // mark the image as in use: see disk/image_lock.h
};

// A regular file or block device of the host, through plain system calls. With `direct`, transfers
// must keep to facts().required; OpenHostFile() gives a file without that rule.
class PosixFile final : public File {
 public:
  // Errors are lines for the user. Where there is no direct I/O (tmpfs on older kernels, say), a
  // warning says so and the page cache is used: slower or faster, but no less durable.
  static Result<std::unique_ptr<PosixFile>> Open(const std::string& path,
                                                 const PosixFileOptions& options);

  const FileFacts& facts() const override { return facts_; }
  uint64_t size() const override { return size_.load(std::memory_order_relaxed); }
  Result<void> ReadAt(FileOffset at, std::span<const iovec> buffers) override;
  Result<void> WriteAt(FileOffset at, std::span<const iovec> buffers) override;
  bool TryReadAt(FileOffset at, std::span<const iovec> buffers) override;
  bool TryWriteAt(FileOffset at, std::span<const iovec> buffers) override;
  Result<void> Zero(FileRange range, bool may_unmap) override;
  Result<void> Discard(FileRange range) override;
  Result<void> Resize(uint64_t size) override;
  Result<void> Sync() override;
  Result<FileStatus> Status(FileRange range) override;

 private:
  struct Parts {
    std::string path;
    UniqueFd fd;
    HostFacts host;
    FileFacts facts;
    uint64_t size;
    bool ignore_sync;
  };
  explicit PosixFile(Parts parts);
  static Result<Parts> Inspect(const std::string& path, UniqueFd fd,
                               const PosixFileOptions& options);

  Result<FileRange> CheckedRange(FileOffset at, uint64_t length) const;
  Error Failure(Error error, std::string_view what, FileRange range) const;
  void NoteWritten(FileOffset end);
  bool WholeDeviceBlocks(FileRange range) const;
  // False if the host cannot do this kind of fallocate() here; then it is not asked again.
  Result<bool> Allocate(int mode, FileRange range, std::atomic<bool>& works);
  Result<void> WriteZeroes(FileRange range);
  bool direct() const { return facts_.required.block > 1; }

  const std::string path_;
  const UniqueFd fd_;
  const HostFacts host_;
  const FileFacts facts_;
  const bool ignore_sync_;
  std::atomic<uint64_t> size_;  // only grows, except in Resize()

  // What turned out to work so far.
  std::atomic<bool> nowait_reads_;
  std::atomic<bool> nowait_writes_;
  std::atomic<bool> zero_range_works_{true};
  std::atomic<bool> punch_works_;
  std::atomic<bool> device_discard_works_;

  GroupSync sync_;
};

// A PosixFile, wrapped so that no alignment is required.
Result<std::unique_ptr<File>> OpenHostFile(const std::string& path,
                                           const PosixFileOptions& options);

}  // namespace skiff
