#include "tests/lab/init/supervisor.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include "tests/lab/init/files.h"

namespace skiff::lab {
namespace {

class SupervisorTest : public testing::Test {
 protected:
  SupervisorTest() : out_(TemporaryFile()), err_(TemporaryFile()) {}

  Outcome Run(std::vector<std::string> arguments, unsigned seconds = 60) {
    Job job;
    job.arguments = std::move(arguments);
    job.environment = {"PATH=/usr/bin:/bin", "COLOUR=blue green"};
    job.directory = "/usr";
    job.time_limit_seconds = seconds;
    Supervisor supervisor(Reach::kProcessGroup);
    auto outcome = supervisor.Run(job, {out_.get(), err_.get()});
    EXPECT_TRUE(outcome.ok()) << outcome.error().message();
    return *outcome;
  }
  Outcome Shell(const char* script, unsigned seconds = 60) {
    return Run({"sh", "-c", script}, seconds);
  }

  static std::string ContentOf(const UniqueFd& file) {
    return *ReadFile("/proc/self/fd/" + std::to_string(file.get()));
  }
  std::string Out() const { return ContentOf(out_); }
  std::string Err() const { return ContentOf(err_); }

 private:
  static UniqueFd TemporaryFile() {
    std::string name = testing::TempDir() + "/supervisor.XXXXXX";
    UniqueFd file(mkostemp(name.data(), O_APPEND | O_CLOEXEC));
    unlink(name.c_str());
    return file;
  }

  const UniqueFd out_;
  const UniqueFd err_;
};

TEST_F(SupervisorTest, PassesOnTheExitStatus) {
  const Outcome outcome = Shell("exit 7");
  EXPECT_EQ(outcome.StatusLine(), "exited 7");
  EXPECT_EQ(outcome.ExitCode(), 7);
}

TEST_F(SupervisorTest, TellsASignalFromAnExitStatusThatLooksLikeOne) {
  EXPECT_EQ(Shell("kill -USR1 $$").StatusLine(), "signaled 10");
  EXPECT_EQ(Shell("exit 138").StatusLine(), "exited 138");
  EXPECT_EQ(Shell("kill -USR1 $$").ExitCode(), 138);
}

TEST_F(SupervisorTest, TellsATimeoutFromStatus124) {
  const Outcome late = Shell("sleep 60", /*seconds=*/1);
  EXPECT_EQ(late.StatusLine(), "timeout");
  EXPECT_EQ(late.ExitCode(), 124);
  EXPECT_EQ(Shell("exit 124").StatusLine(), "exited 124");
}

TEST_F(SupervisorTest, KillsAJobThatIgnoresTheEndOfItsTime) {
  const Outcome outcome = Shell("trap '' TERM; while :; do sleep 1; done", /*seconds=*/1);
  EXPECT_EQ(outcome.StatusLine(), "timeout");
}

TEST_F(SupervisorTest, KillsWhatTheJobLeftRunning) {
  Shell("sleep 60 & echo $!");
  const pid_t left = atoi(Out().c_str());
  ASSERT_GT(left, 1);
  // It is dead at once, but a zombie until the machine's init has reaped it.
  bool alive = true;
  for (int i = 0; i < 100 && alive; ++i) {
    const auto stat = ReadFile("/proc/" + std::to_string(left) + "/stat");
    alive = stat.ok() && stat->find(") Z") == std::string::npos;
    if (alive) usleep(20'000);
  }
  EXPECT_FALSE(alive);
}

TEST_F(SupervisorTest, KeepsTheStreamsApart) {
  Shell("echo one; echo two >&2");
  EXPECT_EQ(Out(), "one\n");
  EXPECT_EQ(Err(), "two\n");
}

TEST_F(SupervisorTest, HandsOverArgumentsEnvironmentAndDirectoryAsTheyAre) {
  Run({"sh", "-c", "printf '%s|' \"$@\" \"$COLOUR\" \"$PWD\"", "sh", "a b", "", "c'\"\n$d"});
  EXPECT_EQ(Out(), "a b||c'\"\n$d|blue green|/usr|");
}

TEST_F(SupervisorTest, GivesNoInput) { EXPECT_EQ(Shell("! read line").StatusLine(), "exited 0"); }

TEST_F(SupervisorTest, NamesACommandThatCannotBeRun) {
  EXPECT_EQ(Run({"no-such-command"}).StatusLine(), "exited 127");
  EXPECT_EQ(Run({"/etc/passwd"}).StatusLine(), "exited 126");
  EXPECT_NE(Err().find("no-such-command"), std::string::npos);
  EXPECT_NE(Err().find("/etc/passwd"), std::string::npos);
}

TEST_F(SupervisorTest, PassesSignalsOnToTheJob) {
  // The job signals its supervisor, as Ctrl-C would.
  const Outcome outcome = Shell("trap 'exit 5' INT; kill -INT $PPID; sleep 5 & wait");
  EXPECT_EQ(outcome.StatusLine(), "exited 5");
}

}  // namespace
}  // namespace skiff::lab
