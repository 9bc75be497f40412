#include "base/thread.h"

#include <array>
#include <csignal>
#include <memory>
#include <string>
#include <utility>

namespace skiff {
namespace {

constexpr size_t kStackBytes = 256 * 1024;

struct StartArguments {
  std::string name;
  std::function<void()> body;
};

void* Run(void* opaque) {
  const std::unique_ptr<StartArguments> arguments(static_cast<StartArguments*>(opaque));
  pthread_setname_np(pthread_self(), arguments->name.c_str());
  arguments->body();
  return nullptr;
}

// What the kernel sends a thread for its own faults. Blocked, they would kill the process past
// every handler, also one that puts the user's terminal in order first.
constexpr std::array kOwnFaults = {SIGILL, SIGTRAP, SIGABRT, SIGBUS, SIGFPE, SIGSEGV, SIGSYS};

// pthread_create() with all other signals blocked, which the new thread inherits.
int CreateWithSignalsBlocked(pthread_t* handle, const pthread_attr_t* attributes, void* arguments) {
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  for (const int fault : kOwnFaults) sigdelset(&all, fault);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  const int error = pthread_create(handle, attributes, Run, arguments);
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return error;
}

}  // namespace

Result<Thread> Thread::Start(std::string_view name, std::function<void()> body) {
  auto arguments =
      std::make_unique<StartArguments>(StartArguments{std::string(name.substr(0, 15)), body});
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
  pthread_attr_setstacksize(&attributes, kStackBytes);
#endif
  pthread_t handle{};
  const int error = CreateWithSignalsBlocked(&handle, &attributes, arguments.get());
  pthread_attr_destroy(&attributes);
  if (error != 0) return Error::FromErrno("pthread_create", error);
  arguments.release();  // Run() owns them now
  return Thread(handle);
}

Thread::Thread(Thread&& other) noexcept
    : handle_(other.handle_), joinable_(std::exchange(other.joinable_, false)) {}

Thread& Thread::operator=(Thread&& other) noexcept {
  if (this != &other) {
    Join();
    handle_ = other.handle_;
    joinable_ = std::exchange(other.joinable_, false);
  }
  return *this;
}

Thread::~Thread() { Join(); }

void Thread::Join() {
  if (std::exchange(joinable_, false)) pthread_join(handle_, nullptr);
}

}  // namespace skiff
