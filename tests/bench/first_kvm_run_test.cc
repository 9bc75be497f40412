// The traced program is this test itself, started with the environment variable below: it takes
// CPU time as told and does the ioctl, for which no KVM is needed.
#include "tests/bench/first_kvm_run.h"

#include <gtest/gtest.h>
#include <linux/kvm.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cstdlib>
#include <ctime>
#include <string_view>
#include <thread>

namespace skiff::bench {
namespace {

using namespace std::chrono_literals;

constexpr const char* kMode = "FIRST_KVM_RUN_TEST_MODE";

void Burn(std::chrono::milliseconds time) {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  const auto end = std::chrono::seconds(now.tv_sec) + std::chrono::nanoseconds(now.tv_nsec) + time;
  while (std::chrono::seconds(now.tv_sec) + std::chrono::nanoseconds(now.tv_nsec) < end)
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
}

void Pretend(std::string_view mode) {
  if (mode == "nothing") return;
  ioctl(-1, KVM_CREATE_VM, 0);  // not the one
  Burn(150ms);
  if (mode == "thread") {
    std::thread(Burn, 150ms).join();  // it has ended when the time is read
    std::thread([] { ioctl(-1, KVM_RUN, 0); }).join();
  }
  ioctl(-1, KVM_RUN, 0);
  Burn(20s);  // never: the process ends at the call
}

std::chrono::nanoseconds MeasuredIn(const char* mode) {
  setenv(kMode, mode, 1);
  const auto time = CpuTimeToFirstKvmRun({"/proc/self/exe"}, 60s);
  unsetenv(kMode);
  if (time.ok()) return time.value();
  ADD_FAILURE() << time.error().message();
  return 0ns;
}

// Upper bounds leave room for the start of the test program under a sanitizer.
TEST(CpuTimeToFirstKvmRun, EndsAtTheCall) {
  const auto time = MeasuredIn("main");
  EXPECT_GE(time, 150ms);
  EXPECT_LT(time, 5s);
}

TEST(CpuTimeToFirstKvmRun, CountsThreadsThatHaveEnded) { EXPECT_GE(MeasuredIn("thread"), 300ms); }

TEST(CpuTimeToFirstKvmRun, SaysThatThereWasNone) {
  setenv(kMode, "nothing", 1);
  const auto time = CpuTimeToFirstKvmRun({"/proc/self/exe"}, 60s);
  unsetenv(kMode);
  ASSERT_FALSE(time.ok());
  EXPECT_NE(time.error().message().find("before its first KVM_RUN"), std::string::npos);
}

TEST(CpuTimeToFirstKvmRun, SaysThatTheProgramIsMissing) {
  EXPECT_FALSE(CpuTimeToFirstKvmRun({"/no/such/program"}, 60s).ok());
}

TEST(CpuTimeToFirstKvmRun, HasALimit) {
  const auto time = CpuTimeToFirstKvmRun({"sleep", "60"}, 1s);
  ASSERT_FALSE(time.ok());
  EXPECT_NE(time.error().message().find("time is over"), std::string::npos);
}

// Runs before main().
const bool kPretended = [] {
  if (const char* mode = std::getenv(kMode)) {
    Pretend(mode);
    _exit(0);
  }
  return true;
}();

}  // namespace
}  // namespace skiff::bench
