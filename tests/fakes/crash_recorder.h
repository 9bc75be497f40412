#pragma once

#include <string>
#include <vector>

#include "base/mutex.h"
#include "tests/fakes/forwarding_file.h"
#include "tests/fakes/memory_file.h"

namespace skiff::fakes {

// One successful call that changed the file, or made changes durable.
struct FileEvent {
  FileOp op;           // never kRead
  uint64_t at = 0;     // kWrite, kZero, kDiscard
  uint64_t count = 0;  // bytes of the same; kResize: the new size; kSync: of the events before this
                       // one, so many had been logged when the call began
  std::vector<std::byte> data{};  // kWrite
};

std::string Describe(const FileEvent& event);

// A File in memory that logs what is done to it, in order, so that PowerCuts can tell what might
// be left of it. It goes on when whoever uses it is gone (a killed process) and another one comes:
// give them a ForwardingFile around it. Thread-safe.
class CrashRecorder final : public File {
 public:
  // `durable`: the content at first, as if it had always been there.
  explicit CrashRecorder(std::vector<std::byte> durable,
                         const FileFacts& facts = MemoryFile::DefaultFacts());

  const std::vector<std::byte>& initial() const { return initial_; }
  size_t log_size() const EXCLUDES(mutex_);
  std::vector<FileEvent> Log() const EXCLUDES(mutex_);
  std::vector<std::byte> Bytes() const { return content_.Bytes(); }  // as a reader sees it now

  const FileFacts& facts() const override { return content_.facts(); }
  uint64_t size() const override { return content_.size(); }
  Result<void> ReadAt(FileOffset at, std::span<const iovec> buffers) override {
    return content_.ReadAt(at, buffers);
  }
  bool TryReadAt(FileOffset at, std::span<const iovec> buffers) override {
    return content_.TryReadAt(at, buffers);
  }
  Result<void> WriteAt(FileOffset at, std::span<const iovec> buffers) override EXCLUDES(mutex_);
  bool TryWriteAt(FileOffset /*at*/, std::span<const iovec> /*buffers*/) override { return false; }
  Result<void> Zero(FileRange range, bool may_unmap) override EXCLUDES(mutex_);
  Result<void> Discard(FileRange range) override EXCLUDES(mutex_);
  Result<void> Resize(uint64_t size) override EXCLUDES(mutex_);
  Result<void> Sync() override EXCLUDES(mutex_);
  Result<FileStatus> Status(FileRange range) override { return content_.Status(range); }

 private:
  const std::vector<std::byte> initial_;
  mutable Mutex mutex_;  // makes a change and its entry in the log one step
  MemoryFile content_;
  std::vector<FileEvent> log_ GUARDED_BY(mutex_);
};

}  // namespace skiff::fakes
