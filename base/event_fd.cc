#include "base/event_fd.h"

#include <sys/eventfd.h>
#include <unistd.h>

namespace skiff {

Result<EventFd> EventFd::Make() {
  UniqueFd fd(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!fd.valid()) return Error::FromErrno("eventfd");
  return EventFd(std::move(fd));
}

void EventFd::Signal() const {
  const uint64_t one = 1;
  // EAGAIN: the counter is at its maximum and readable, which is all a signal means.
  while (write(fd_.get(), &one, sizeof one) < 0 && errno == EINTR) {
  }
}

bool EventFd::Drain() const {
  uint64_t count = 0;
  ssize_t got = 0;
  do {
    got = read(fd_.get(), &count, sizeof count);
  } while (got < 0 && errno == EINTR);
  return got == static_cast<ssize_t>(sizeof count);
}

}  // namespace skiff
