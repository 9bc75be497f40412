#include "devices/virtio/rng.h"

#include <sys/random.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "devices/virtio/chain_io.h"

namespace skiff::virtio {
namespace {

// One answer's most. Drivers ask for a few dozen bytes and ask again if they want more; a
// request of gigabytes must not keep the thread.
constexpr size_t kMostBytes = 4096;

size_t FillWithRandom(std::span<const GuestSpan> buffers) {
  std::array<std::byte, kMostBytes> bytes;
  const size_t wanted = std::min<uint64_t>(bytes.size(), ByteCount(buffers));
  size_t got = 0;
  while (got < wanted) {
    const ssize_t more = getrandom(bytes.data() + got, wanted - got, 0);
    if (more < 0 && errno == EINTR) continue;
    if (more <= 0) break;  // the driver sees a short answer and asks again
    got += static_cast<size_t>(more);
  }
  return CopyIn(buffers, 0, std::span(bytes).first(got));
}

}  // namespace

void Rng::ReadConfig(uint32_t offset, std::span<std::byte> data) const {
  ReadConfigBytes({}, offset, data);
}

void Rng::WriteConfig(uint32_t /*offset*/, std::span<const std::byte> /*data*/) {}

Result<void> Rng::Start(Session session) {
  session_ = std::move(session);
  auto loop = TRY(EventLoop::Make());
  loop_ = loop.get();
  if (!session_.queues.empty()) {
    const EventFd& kick = *session_.queues.front().kick;
    TRY(loop->Watch(kick.fd(), [this] { OnKick(); }));
    kick.Signal();  // for what is waiting already
  }
  worker_ = TRY(Worker::Start("virtio-rng", std::move(loop)));
  return {};
}

void Rng::Stop() {
  worker_.reset();
  session_ = {};
}

void Rng::OnKick() {
  const SessionQueue& queue = session_.queues.front();
  const auto serve = [](DescriptorChain chain) {
    const size_t written = FillWithRandom(chain.writable);
    std::move(chain.answer).Complete(static_cast<uint32_t>(written));
  };
  const bool sound = ServeKick(queue, *session_.notifier, log_, serve);
  PublishAnswers(queue, *session_.notifier);
  if (!sound) loop_->Unwatch(queue.kick->fd());
}

}  // namespace skiff::virtio
