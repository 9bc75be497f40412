#include "vmm/console/interruptible_thread.h"

#include <pthread.h>

#include <chrono>
#include <csignal>
#include <thread>
#include <utility>

namespace skiff {
namespace {

constexpr int kInterrupt = SIGURG;
constexpr std::chrono::milliseconds kBetweenInterrupts{5};

Result<void> InstallHandler() {
  struct sigaction action {};
  action.sa_handler = [](int) {};  // and no SA_RESTART
  if (sigaction(kInterrupt, &action, nullptr) < 0) return Error::FromErrno("sigaction");
  return {};
}

void Unblock() {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, kInterrupt);
  pthread_sigmask(SIG_UNBLOCK, &set, nullptr);
}

}  // namespace

Result<InterruptibleThread> InterruptibleThread::Start(std::string_view name,
                                                       std::function<void()> body) {
  TRY(InstallHandler());
  auto shared = std::make_shared<Shared>();
  Thread thread = TRY(Thread::Start(name, [shared, body = std::move(body)] {
    Unblock();
    body();
    shared->finished.store(true, std::memory_order_release);
  }));
  return InterruptibleThread(std::move(shared), std::move(thread));
}

void InterruptibleThread::Join() {
  if (!shared_) return;
  // A signal may come just before the body enters the kernel, so one is not enough.
  while (!shared_->finished.load(std::memory_order_acquire)) {
    pthread_kill(thread_.handle(), kInterrupt);
    std::this_thread::sleep_for(kBetweenInterrupts);
  }
  thread_.Join();
  shared_.reset();
}

}  // namespace skiff
