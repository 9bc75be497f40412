#include "disk/group_sync.h"

namespace skiff {

Result<void> GroupSync::Run() {
  MutexLock lock(mutex_);
  const uint64_t wanted = started_ + 1;  // a call that is running now may have missed our data
  while (failure_ == 0 && succeeded_ < wanted) {
    if (running_) {
      finished_.Wait(mutex_);
    } else {
      RunOneLocked();
    }
  }
  if (failure_ == 0) return {};
  return Error::FromErrno("fdatasync", failure_)
      .While("making writes durable (no flush succeeds after a failed one)");
}

void GroupSync::RunOneLocked() {
  running_ = true;
  const uint64_t number = ++started_;
  mutex_.Unlock();
  const int error = sync_();
  mutex_.Lock();
  running_ = false;
  if (error == 0) {
    succeeded_ = number;
  } else {
    failure_ = error;
  }
  finished_.NotifyAll();
}

}  // namespace skiff
