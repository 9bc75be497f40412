#include "tests/lab/init/heartbeat.h"

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>

namespace skiff::lab {
namespace {

constexpr int kPausesPerBeat = 10;
constexpr std::chrono::milliseconds kPause{200};  // how late the end may be noticed

void MoveTo(long processor) {
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(static_cast<size_t>(processor), &one);
  sched_setaffinity(0, sizeof(one), &one);
}

}  // namespace

Heartbeat::Heartbeat(UniqueFd port) : port_(std::move(port)), thread_([this] { Beat(); }) {}

Heartbeat::~Heartbeat() {
  stopping_ = true;
  thread_.join();
}

void Heartbeat::Beat() {
  const long processors = std::max(1L, sysconf(_SC_NPROCESSORS_ONLN));
  for (long beat = 0; !stopping_; ++beat) {
    MoveTo(beat % processors);
    if (write(port_.get(), ".", 1) != 1) return;
    for (int i = 0; i < kPausesPerBeat && !stopping_; ++i) std::this_thread::sleep_for(kPause);
  }
}

}  // namespace skiff::lab
