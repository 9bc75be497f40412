#include "disk/range_lock.h"

namespace skiff {

RangeLock::Hold::Hold(RangeLock& lock, FileRange range, Mode mode)
    : lock_(lock), range_(range), mode_(mode) {
  MutexLock guard(lock.mutex_);
  earlier_ = lock.last_;
  if (earlier_ != nullptr) earlier_->later_ = this;
  lock.last_ = this;
  while (lock.MustWaitLocked(*this)) lock.released_.Wait(lock.mutex_);
}

RangeLock::Hold::~Hold() {
  MutexLock guard(lock_.mutex_);
  if (earlier_ != nullptr) earlier_->later_ = later_;
  if (later_ != nullptr) {
    later_->earlier_ = earlier_;
    lock_.released_.NotifyAll();  // only who came later can have waited for us
  } else {
    lock_.last_ = earlier_;
  }
}

bool RangeLock::MustWaitLocked(const Hold& hold) const {
  for (const Hold* other = hold.earlier_; other != nullptr; other = other->earlier_) {
    const bool exclusive = hold.mode_ == Mode::kExclusive || other->mode_ == Mode::kExclusive;
    if (exclusive && other->range_.Overlaps(hold.range_)) return true;
  }
  return false;
}

}  // namespace skiff
