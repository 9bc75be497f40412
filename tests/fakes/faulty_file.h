#pragma once

#include <map>

#include "base/mutex.h"
#include "tests/fakes/forwarding_file.h"

namespace skiff::fakes {

// A File whose calls fail when told to, and that counts them. Thread-safe.
class FaultyFile final : public ForwardingFile {
 public:
  using ForwardingFile::ForwardingFile;

  // The next `times` calls of `op` fail with `os_error`.
  void Fail(FileOp op, int os_error, uint32_t times = 1) EXCLUDES(mutex_);
  uint32_t Calls(FileOp op) const EXCLUDES(mutex_);  // failed ones too

 private:
  struct Plan {
    uint32_t calls = 0;
    uint32_t failures_left = 0;
    int os_error = 0;
  };
  Result<void> Before(FileOp op) override EXCLUDES(mutex_);

  mutable Mutex mutex_;
  std::map<FileOp, Plan> plans_ GUARDED_BY(mutex_);
};

}  // namespace skiff::fakes
