#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/event_loop.h"
#include "base/log.h"
#include "base/thread.h"
#include "devices/virtio/device.h"

namespace skiff::virtio {

// The thread of a running device, or of one of its queues, and the loop it runs. Made with the
// loop's first watches already in place; what they call back is used by that thread alone until
// the destructor, which lets the callback in progress end and joins the thread, has returned.
class Worker {
 public:
  static Result<std::unique_ptr<Worker>> Start(std::string_view name,
                                               std::unique_ptr<EventLoop> loop);
  ~Worker();
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

 private:
  explicit Worker(std::unique_ptr<EventLoop> loop) : loop_(std::move(loop)) {}
  const std::unique_ptr<EventLoop> loop_;
  std::optional<Thread> thread_;
};

// Shows the driver what was answered and interrupts it if it asked for that.
inline void PublishAnswers(const SessionQueue& queue, Notifier& notifier) {
  if (queue.queue->Publish()) notifier.QueueUsed(queue.index);
}

// Answers the queue's event: hands each waiting request to serve(DescriptorChain). At most one
// ring full: a driver that adds requests as fast as they are taken must not keep the thread from
// its other events, so the rest waits for the event, signalled again. False when the driver broke
// the protocol: it has been told, and the event must not be watched any more.
template <typename Serve>
[[nodiscard]] bool ServeKick(const SessionQueue& queue, Notifier& notifier, LimitedLog& log,
                             Serve&& serve) {
  queue.kick->Drain();
  for (uint32_t served = 0; served < queue.queue->size(); ++served) {
    auto chain = queue.queue->Pop();
    if (!chain.ok()) {
      log.Warning("virtqueue " + std::to_string(queue.index) + ": " + chain.error().message() +
                  "; the device waits for a reset");
      notifier.NeedsReset();
      return false;
    }
    if (!chain->has_value()) return true;
    serve(std::move(**chain));
  }
  queue.kick->Signal();
  return true;
}

}  // namespace skiff::virtio
