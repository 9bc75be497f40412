#pragma once

#include <memory>

namespace skiff {

// The terminal behind a descriptor, raw while we are its foreground job. It gets back the state
// it had when this object is destroyed, when the process exits, when a signal kills or stops us
// and when we crash: all but SIGKILL. At most one object at a time.
//
// Only input processing is changed, never the output flags: the guest's CR LF is right with or
// without them, and our own messages keep their line ends.
//
// Open() and the destructor belong to the main thread, before it starts others and after it
// joined them; EnterRaw() may be called from one other thread.
class Terminal {
 public:
  // Null unless `fd` is a terminal. The descriptor must outlive the object.
  static std::unique_ptr<Terminal> Open(int fd);
  ~Terminal();
  Terminal(const Terminal&) = delete;
  Terminal& operator=(const Terminal&) = delete;

  // Makes the terminal raw (again) if we are its foreground job; touching it from the background
  // would stop us (SIGTTOU) and disturb whoever uses it now.
  void EnterRaw();
  // Whether reading is ours: true for the foreground job and on a terminal without job control.
  bool InForeground() const;

 private:
  explicit Terminal(int fd);
};

}  // namespace skiff
