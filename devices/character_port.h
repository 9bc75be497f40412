#pragma once

#include <cstddef>
#include <functional>
#include <span>

namespace skiff {

// The host's end of a serial line. The device pulls input when it has room, so pasted text waits
// in the host instead of overrunning a 16-byte FIFO.
class CharacterPort {
 public:
  virtual ~CharacterPort() = default;

  // Takes all bytes, from a vCPU thread. Bounded in time: a reader that stalls costs bytes, which
  // the port counts and reports, never the guest's progress.
  virtual void Send(std::span<const std::byte> bytes) = 0;

  // Moves up to bytes.size() bytes of pending input into `bytes`; returns how many. Thread-safe.
  virtual size_t Receive(std::span<std::byte> bytes) = 0;

  // `callback` runs on a host thread whenever input may have become pending. It must not be
  // called under a lock that Receive() takes. Replaces the earlier one; an empty one removes it
  // and returns only when no call is in progress.
  virtual void OnReadable(std::function<void()> callback) = 0;

  // Asks for that callback in about half a millisecond if input is pending then: for a device
  // that has room again and lets the guest breathe between two fillings. Thread-safe, never
  // blocks, never calls back itself.
  virtual void RequestCallback() = 0;
};

}  // namespace skiff
