#include "devices/virtio/worker.h"

#include <utility>

namespace skiff::virtio {

Result<std::unique_ptr<Worker>> Worker::Start(std::string_view name,
                                              std::unique_ptr<EventLoop> loop) {
  std::unique_ptr<Worker> worker(new Worker(std::move(loop)));
  worker->thread_ = TRY(Thread::Start(name, [&loop = *worker->loop_] { loop.Run(); }));
  return worker;
}

Worker::~Worker() {
  if (thread_.has_value()) loop_->Stop();
}

}  // namespace skiff::virtio
