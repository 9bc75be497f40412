#pragma once

#include "base/result.h"
#include "base/unique_fd.h"

namespace skiff {

// The signals that ask skiff to end (SIGHUP, SIGINT, SIGQUIT, SIGTERM), as a descriptor. Made by
// the main thread before it starts others, which then inherit the blocked mask. Also ignores
// SIGPIPE and SIGXFSZ: a closed pipe or a file-size limit is an error of one write, not our end.
// Signals that were ignored at start (nohup) stay ignored.
class EndSignals {
 public:
  static Result<EndSignals> Block();

  int fd() const { return fd_.get(); }
  // The signal that made fd() readable; 0 if there is none.
  int Take() const;

 private:
  explicit EndSignals(UniqueFd fd) : fd_(std::move(fd)) {}
  UniqueFd fd_;
};

}  // namespace skiff
