#include "vmm/console/output_buffer.h"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <thread>
#include <utility>

namespace skiff {
namespace {

// Small pieces, so that a slow reader shows as progress early.
constexpr size_t kWriteBytes = 1024;

// After the first byte wait a moment for more: a guest's line then costs one wake-up, not one
// per byte.
constexpr std::chrono::milliseconds kGather{1};

// A descriptor that somebody else made non-blocking.
void WaitUntilWritable(int fd) {
  pollfd entry{fd, POLLOUT, 0};
  poll(&entry, 1, 50);
}

}  // namespace

OutputBuffer::OutputBuffer(int fd, const Limits& limits)
    : fd_(fd),
      limits_(limits),
      ring_(std::make_unique_for_overwrite<std::byte[]>(limits.capacity)),
      last_progress_(Clock::now()) {}

Result<std::unique_ptr<OutputBuffer>> OutputBuffer::Start(int fd, const Limits& limits) {
  std::unique_ptr<OutputBuffer> buffer(new OutputBuffer(fd, limits));
  OutputBuffer& reference = *buffer;
  InterruptibleThread thread =
      TRY(InterruptibleThread::Start("console-out", [&reference] { reference.Run(); }));
  buffer->writer_.emplace(std::move(thread));
  return buffer;
}

void OutputBuffer::Append(std::span<const std::byte> bytes) {
  MutexLock lock(mutex_);
  while (!bytes.empty()) {
    if (broken_ || closing_ || (size_ == limits_.capacity && !WaitForRoom())) {
      lost_ += bytes.size();
      return;
    }
    bytes = bytes.subspan(Store(bytes));
  }
}

size_t OutputBuffer::Store(std::span<const std::byte> bytes) {
  if (size_ == 0) {
    first_ = 0;  // a buffer that rarely fills touches few pages
    last_progress_ = Clock::now();
    bytes_or_closing_.NotifyOne();
  }
  const size_t end = (first_ + size_) % limits_.capacity;
  const size_t room = std::min(limits_.capacity - size_, limits_.capacity - end);
  const size_t count = std::min(room, bytes.size());
  std::memcpy(&ring_[end], bytes.data(), count);
  size_ += count;
  return count;
}

bool OutputBuffer::WaitForRoom() {
  while (!stalled_ && !broken_ && !closing_ && size_ == limits_.capacity) {
    const Clock::time_point deadline = last_progress_ + limits_.append_patience;
    if (Clock::now() >= deadline) {
      stalled_ = true;
    } else {
      progress_.WaitUntil(mutex_, deadline);
    }
  }
  return size_ < limits_.capacity;
}

void OutputBuffer::Finish() {
  {
    MutexLock lock(mutex_);
    if (!std::exchange(closing_, true)) last_progress_ = Clock::now();
    bytes_or_closing_.NotifyOne();
    progress_.NotifyAll();
    while (writer_ && !written_out_ && !abandoned_) {
      const Clock::time_point deadline = last_progress_ + limits_.finish_patience;
      if (Clock::now() >= deadline) {
        abandoned_ = true;
      } else {
        progress_.WaitUntil(mutex_, deadline);
      }
    }
  }
  if (writer_) writer_->Join();
  MutexLock lock(mutex_);
  lost_ += std::exchange(size_, 0);
}

uint64_t OutputBuffer::lost_bytes() const {
  MutexLock lock(mutex_);
  return lost_;
}

void OutputBuffer::Run() {
  while (WaitForBytes()) {
    const std::span<const std::byte> front = Front();
    const ssize_t written = write(fd_, front.data(), front.size());
    if (written > 0) {
      OnWritten(static_cast<size_t>(written));
    } else if (written < 0 && errno == EAGAIN) {
      WaitUntilWritable(fd_);
    } else if (written == 0 || errno != EINTR) {
      OnBroken();
    }
    if (abandoned()) break;
  }
  MutexLock lock(mutex_);
  written_out_ = true;
  progress_.NotifyAll();
}

bool OutputBuffer::WaitForBytes() {
  bool gather = false;
  {
    MutexLock lock(mutex_);
    while (size_ == 0 && !closing_) {
      bytes_or_closing_.Wait(mutex_);
      gather = true;
    }
    if (size_ == 0) return false;
    gather = gather && !closing_;
  }
  if (gather) std::this_thread::sleep_for(kGather);
  return true;
}

// Only the writer takes bytes away, so these stay where they are without the lock.
std::span<const std::byte> OutputBuffer::Front() const {
  MutexLock lock(mutex_);
  return {&ring_[first_], std::min({size_, limits_.capacity - first_, kWriteBytes})};
}

void OutputBuffer::OnWritten(size_t count) {
  MutexLock lock(mutex_);
  first_ = (first_ + count) % limits_.capacity;
  size_ -= count;
  last_progress_ = Clock::now();
  stalled_ = false;
  progress_.NotifyAll();
}

void OutputBuffer::OnBroken() {
  MutexLock lock(mutex_);
  broken_ = true;
  lost_ += std::exchange(size_, 0);
  progress_.NotifyAll();
}

bool OutputBuffer::abandoned() const {
  MutexLock lock(mutex_);
  return abandoned_;
}

}  // namespace skiff
