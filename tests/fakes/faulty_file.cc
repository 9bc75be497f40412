#include "tests/fakes/faulty_file.h"

namespace skiff::fakes {

void FaultyFile::Fail(FileOp op, int os_error, uint32_t times) {
  MutexLock lock(mutex_);
  plans_[op].failures_left = times;
  plans_[op].os_error = os_error;
}

uint32_t FaultyFile::Calls(FileOp op) const {
  MutexLock lock(mutex_);
  const auto it = plans_.find(op);
  return it == plans_.end() ? 0 : it->second.calls;
}

Result<void> FaultyFile::Before(FileOp op) {
  MutexLock lock(mutex_);
  Plan& plan = plans_[op];
  ++plan.calls;
  if (plan.failures_left == 0) return {};
  --plan.failures_left;
  return Error::FromErrno("injected fault", plan.os_error);
}

}  // namespace skiff::fakes
