#pragma once

#include "base/mutex.h"
#include "tests/fakes/forwarding_file.h"

namespace skiff::fakes {

// A File whose calls wait at a gate while it is closed. Thread-safe.
class SlowFile final : public ForwardingFile {
 public:
  using ForwardingFile::ForwardingFile;

  void CloseGate() EXCLUDES(mutex_);  // open at first
  void OpenGate() EXCLUDES(mutex_);
  void LetPass(uint32_t count) EXCLUDES(mutex_);  // that many calls, with the gate closed
  // Returns when at least `count` calls wait at the gate.
  void AwaitWaiting(uint32_t count) EXCLUDES(mutex_);

 private:
  Result<void> Before(FileOp op) override EXCLUDES(mutex_);

  Mutex mutex_;
  CondVar changed_;
  bool closed_ GUARDED_BY(mutex_) = false;
  uint32_t passes_ GUARDED_BY(mutex_) = 0;
  uint32_t waiting_ GUARDED_BY(mutex_) = 0;
};

}  // namespace skiff::fakes
