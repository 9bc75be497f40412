#include "tests/fakes/slow_file.h"

namespace skiff::fakes {

void SlowFile::CloseGate() {
  MutexLock lock(mutex_);
  closed_ = true;
}

void SlowFile::OpenGate() {
  MutexLock lock(mutex_);
  closed_ = false;
  changed_.NotifyAll();
}

void SlowFile::LetPass(uint32_t count) {
  MutexLock lock(mutex_);
  passes_ += count;
  changed_.NotifyAll();
}

void SlowFile::AwaitWaiting(uint32_t count) {
  MutexLock lock(mutex_);
  while (waiting_ < count) changed_.Wait(mutex_);
}

Result<void> SlowFile::Before(FileOp /*op*/) {
  MutexLock lock(mutex_);
  ++waiting_;
  changed_.NotifyAll();
  while (closed_ && passes_ == 0) changed_.Wait(mutex_);
  if (closed_) --passes_;
  --waiting_;
  return {};
}

}  // namespace skiff::fakes
