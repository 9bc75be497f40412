#include "tests/bench/process.h"

#include <gtest/gtest.h>
#include <sys/wait.h>

#include <csignal>

namespace skiff::bench {
namespace {

using namespace std::chrono_literals;

Result<Process> Shell(const std::string& script) { return Process::Start({"sh", "-c", script}); }

TEST(AwaitLine, TakesWholeLinesAsTheyCome) {
  auto process = Shell(
      "printf 'before\\nnoise mar'; sleep 0.1; printf 'k: 2'; sleep 0.1; "
      "printf '\\r\\nlater\\n'; sleep 60");
  ASSERT_TRUE(process.ok());
  const auto line = process->AwaitLine("mark:", 30s);
  ASSERT_TRUE(line.ok()) << line.error().message();
  EXPECT_EQ(line.value(), "mark: 2");
  EXPECT_TRUE(process->AwaitLine("later", 30s).ok());
}

TEST(AwaitLine, GoesOnBehindTheLastLine) {
  auto process = Shell("printf 'mark 1 mark\\nmark 2\\n'");
  ASSERT_TRUE(process.ok());
  EXPECT_EQ(process->AwaitLine("mark", 30s).value(), "mark 1 mark");
  EXPECT_EQ(process->AwaitLine("mark", 30s).value(), "mark 2");
  EXPECT_FALSE(process->AwaitLine("mark", 30s).ok());
}

TEST(AwaitLine, TellsWhatItSawAtTheEnd) {
  auto process = Shell("echo last words");
  ASSERT_TRUE(process.ok());
  const auto line = process->AwaitLine("mark:", 30s);
  ASSERT_FALSE(line.ok());
  EXPECT_NE(line.error().message().find("last words"), std::string::npos);
}

TEST(AwaitLine, HasALimit) {
  auto process = Shell("sleep 60");
  ASSERT_TRUE(process.ok());
  const auto started = Clock::now();
  EXPECT_FALSE(process->AwaitLine("mark:", 1s).ok());
  EXPECT_GE(Clock::now() - started, 1s);
}

TEST(ProcessInput, DoesNotEnd) {
  auto process = Shell("timeout 0.5 cat; echo status $?");
  ASSERT_TRUE(process.ok());
  const auto line = process->AwaitLine("status", 30s);
  ASSERT_TRUE(line.ok());
  EXPECT_EQ(line.value(), "status 124");
}

TEST(ProcessEnd, LeavesNothingBehind) {
  int pid = 0;
  {
    auto process = Shell("sleep 60");
    ASSERT_TRUE(process.ok());
    pid = process->pid();
    EXPECT_EQ(kill(pid, 0), 0);
  }
  EXPECT_EQ(kill(pid, 0), -1);
}

TEST(ProcessStart, OfAMissingProgramShowsAsAnEnd) {
  auto process = Process::Start({"/no/such/program"});
  ASSERT_TRUE(process.ok());
  EXPECT_FALSE(process->AwaitLine("", 30s).ok());
}

}  // namespace
}  // namespace skiff::bench
