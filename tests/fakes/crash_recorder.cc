#include "tests/fakes/crash_recorder.h"

#include <thread>

#include "base/iovec_cursor.h"

namespace skiff::fakes {

std::string Describe(const FileEvent& event) {
  const std::string place = std::to_string(event.at) + "+" + std::to_string(event.count);
  switch (event.op) {
    case FileOp::kWrite:
      return "write " + place;
    case FileOp::kZero:
      return "zero " + place;
    case FileOp::kDiscard:
      return "discard " + place;
    case FileOp::kResize:
      return "resize to " + std::to_string(event.count);
    case FileOp::kSync:
      return "sync of the first " + std::to_string(event.count);
    case FileOp::kRead:
      break;
  }
  return "?";
}

CrashRecorder::CrashRecorder(std::vector<std::byte> durable, const FileFacts& facts)
    : initial_(std::move(durable)), content_(0, facts) {
  content_.SetBytes(initial_);
}

size_t CrashRecorder::log_size() const {
  MutexLock lock(mutex_);
  return log_.size();
}

std::vector<FileEvent> CrashRecorder::Log() const {
  MutexLock lock(mutex_);
  return log_;
}

Result<void> CrashRecorder::WriteAt(FileOffset at, std::span<const iovec> buffers) {
  std::vector<std::byte> data(TotalBytes(buffers));
  IovecCursor(buffers).CopyOut(data);
  MutexLock lock(mutex_);
  TRY(content_.WriteAt(at, buffers));
  const uint64_t count = data.size();
  log_.push_back({FileOp::kWrite, at.value(), count, std::move(data)});
  return {};
}

Result<void> CrashRecorder::Zero(FileRange range, bool may_unmap) {
  MutexLock lock(mutex_);
  TRY(content_.Zero(range, may_unmap));
  log_.push_back({FileOp::kZero, range.start().value(), range.length()});
  return {};
}

Result<void> CrashRecorder::Discard(FileRange range) {
  MutexLock lock(mutex_);
  TRY(content_.Discard(range));
  log_.push_back({FileOp::kDiscard, range.start().value(), range.length()});
  return {};
}

Result<void> CrashRecorder::Resize(uint64_t size) {
  MutexLock lock(mutex_);
  TRY(content_.Resize(size));
  if (!facts().fixed_size) log_.push_back({FileOp::kResize, 0, size});
  return {};
}

Result<void> CrashRecorder::Sync() {
  const size_t covered = log_size();
  std::this_thread::yield();  // others may write meanwhile; this sync owes them nothing
  MutexLock lock(mutex_);
  log_.push_back({FileOp::kSync, 0, covered});
  return {};
}

}  // namespace skiff::fakes
