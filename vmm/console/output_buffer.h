#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>

#include "base/mutex.h"
#include "base/result.h"
#include "vmm/console/interruptible_thread.h"

namespace skiff {

// Writes bytes to a descriptor through a buffer and a thread of its own, so that a reader who
// stalls costs bytes and not the guest's progress. As long as the reader takes bytes now and
// then, nothing is lost; what is lost is counted. Thread-safe.
//
// The descriptor must outlive the object. It may be in blocking mode and stays as it is.
class OutputBuffer {
 public:
  struct Limits {
    size_t capacity = size_t{256} << 10;
    std::chrono::milliseconds append_patience{100};  // without progress, on a full buffer
    std::chrono::milliseconds finish_patience{1000};
  };
  static Result<std::unique_ptr<OutputBuffer>> Start(int fd) { return Start(fd, Limits()); }
  static Result<std::unique_ptr<OutputBuffer>> Start(int fd, const Limits& limits);
  ~OutputBuffer() { Finish(); }

  // Takes all bytes or, when the buffer is full and the reader has taken nothing for a while,
  // loses the rest; from then on does not wait until the reader goes on.
  void Append(std::span<const std::byte> bytes) EXCLUDES(mutex_);

  // Waits until all is written, or there was no progress for a while; then the rest is lost.
  // Bytes appended later are lost too.
  void Finish() EXCLUDES(mutex_);

  uint64_t lost_bytes() const EXCLUDES(mutex_);

 private:
  using Clock = std::chrono::steady_clock;

  OutputBuffer(int fd, const Limits& limits);
  void Run() EXCLUDES(mutex_);  // the writer thread
  bool WaitForBytes() EXCLUDES(mutex_);
  std::span<const std::byte> Front() const EXCLUDES(mutex_);
  void OnWritten(size_t count) EXCLUDES(mutex_);
  void OnBroken() EXCLUDES(mutex_);
  bool abandoned() const EXCLUDES(mutex_);

  size_t Store(std::span<const std::byte> bytes) REQUIRES(mutex_);
  bool WaitForRoom() REQUIRES(mutex_);

  const int fd_;
  const Limits limits_;
  // Allocated without touching it: pages cost memory when they are used.
  const std::unique_ptr<std::byte[]> ring_;

  mutable Mutex mutex_;
  CondVar bytes_or_closing_;  // for the writer
  CondVar progress_;          // for Append() and Finish()
  size_t first_ GUARDED_BY(mutex_) = 0;
  size_t size_ GUARDED_BY(mutex_) = 0;
  Clock::time_point last_progress_ GUARDED_BY(mutex_);
  bool stalled_ GUARDED_BY(mutex_) = false;    // Append() gave up waiting
  bool broken_ GUARDED_BY(mutex_) = false;     // the descriptor takes no bytes any more
  bool closing_ GUARDED_BY(mutex_) = false;    // Finish() was called
  bool abandoned_ GUARDED_BY(mutex_) = false;  // Finish() gave up waiting
  bool written_out_ GUARDED_BY(mutex_) = false;
  uint64_t lost_ GUARDED_BY(mutex_) = 0;

  std::optional<InterruptibleThread> writer_;
};

}  // namespace skiff
