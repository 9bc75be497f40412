#pragma once

#include <atomic>
#include <memory>

#include "disk/file.h"

namespace skiff::qcow2 {

// The image's file, which remembers whether anything was written that no sync covers. All I/O of
// an image goes through it, the engine's too. Thread-safe.
class TrackedFile final : public File {
 public:
  // What is in the file at first counts as written: a writer before us may have been killed.
  explicit TrackedFile(std::unique_ptr<File> inner) : inner_(std::move(inner)) {}

  // Whether something was written since the last ForgetWritten(). Call that before Sync(), and
  // after a failed one NoteWritten().
  bool written() const { return written_.load(); }
  void ForgetWritten() { written_.store(false); }
  void NoteWritten() { written_.store(true); }

  const FileFacts& facts() const override { return inner_->facts(); }
  uint64_t size() const override { return inner_->size(); }
  Result<void> ReadAt(FileOffset at, std::span<const iovec> buffers) override {
    return inner_->ReadAt(at, buffers);
  }
  bool TryReadAt(FileOffset at, std::span<const iovec> buffers) override {
    return inner_->TryReadAt(at, buffers);
  }
  Result<FileStatus> Status(FileRange range) override { return inner_->Status(range); }
  Result<void> Sync() override { return inner_->Sync(); }

  // Noted when they are over: a flush owes nothing to what had not completed when it began.
  Result<void> WriteAt(FileOffset at, std::span<const iovec> buffers) override {
    return Noted(inner_->WriteAt(at, buffers));
  }
  bool TryWriteAt(FileOffset at, std::span<const iovec> buffers) override {
    return Noted(inner_->TryWriteAt(at, buffers));
  }
  Result<void> Zero(FileRange range, bool may_unmap) override {
    return Noted(inner_->Zero(range, may_unmap));
  }
  Result<void> Discard(FileRange range) override { return Noted(inner_->Discard(range)); }
  Result<void> Resize(uint64_t size) override { return Noted(inner_->Resize(size)); }

 private:
  template <typename T>
  T Noted(T result) {
    NoteWritten();
    return result;
  }

  const std::unique_ptr<File> inner_;
  std::atomic<bool> written_ = true;
};

}  // namespace skiff::qcow2
