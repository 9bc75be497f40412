#pragma once

#include "disk/file.h"

namespace skiff::fakes {

enum class FileOp : uint8_t { kRead, kWrite, kZero, kDiscard, kResize, kSync };

// A File that passes everything on to another one, which outlives it; a base for those that
// interfere. What they do goes into Before(); an error from it is the call's answer.
class ForwardingFile : public File {
 public:
  explicit ForwardingFile(File& inner) : inner_(inner) {}

  const FileFacts& facts() const override { return inner_.facts(); }
  uint64_t size() const override { return inner_.size(); }
  Result<void> ReadAt(FileOffset at, std::span<const iovec> buffers) override {
    TRY(Before(FileOp::kRead));
    return inner_.ReadAt(at, buffers);
  }
  Result<void> WriteAt(FileOffset at, std::span<const iovec> buffers) override {
    TRY(Before(FileOp::kWrite));
    return inner_.WriteAt(at, buffers);
  }
  // Interfering files wait or fail, which these must not hide.
  bool TryReadAt(FileOffset /*at*/, std::span<const iovec> /*buffers*/) override { return false; }
  bool TryWriteAt(FileOffset /*at*/, std::span<const iovec> /*buffers*/) override { return false; }
  Result<void> Zero(FileRange range, bool may_unmap) override {
    TRY(Before(FileOp::kZero));
    return inner_.Zero(range, may_unmap);
  }
  Result<void> Discard(FileRange range) override {
    TRY(Before(FileOp::kDiscard));
    return inner_.Discard(range);
  }
  Result<void> Resize(uint64_t size) override {
    TRY(Before(FileOp::kResize));
    return inner_.Resize(size);
  }
  Result<void> Sync() override {
    TRY(Before(FileOp::kSync));
    return inner_.Sync();
  }
  Result<FileStatus> Status(FileRange range) override { return inner_.Status(range); }

 protected:
  virtual Result<void> Before(FileOp op) = 0;
  File& inner() { return inner_; }

 private:
  File& inner_;
};

}  // namespace skiff::fakes
