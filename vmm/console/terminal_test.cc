// The console on a real pseudo terminal, in a process that ends in every way there is.
#include "vmm/console/terminal.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <pty.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <csignal>
#include <cstring>
#include <functional>
#include <string>
#include <thread>

#include "base/thread.h"
#include "base/unique_fd.h"
#include "vmm/console/console.h"

namespace skiff {
namespace {

using namespace std::chrono_literals;

enum class StartIn : uint8_t { kForeground, kBackground };

// A little shell on a pseudo terminal with job control, and one job, which runs `body` in a
// process of its own with the terminal as standard input and output.
class Session {
 public:
  explicit Session(const std::function<void()>& body, StartIn where = StartIn::kForeground) {
    int controller = -1;
    int terminal = -1;
    EXPECT_EQ(openpty(&controller, &terminal, nullptr, nullptr, nullptr), 0);
    controller_ = UniqueFd(controller);
    termios odd = Now();  // as no default is
    odd.c_oflag |= OLCUC;
    odd.c_cc[VERASE] = 'q';
    tcsetattr(terminal, TCSANOW, &odd);
    before_ = Now();
    std::array<int, 2> commands{};
    std::array<int, 2> reports{};
    EXPECT_EQ(pipe(commands.data()) + pipe(reports.data()), 0);
    shell_ = fork();
    if (shell_ == 0) RunShell(terminal, commands[0], reports[1], body, where);
    commands_ = UniqueFd(commands[1]);
    reports_ = UniqueFd(reports[0]);
    close(commands[0]);
    close(reports[1]);
    close(terminal);
    job_ = NextReport();
  }
  ~Session() {
    kill(-job_, SIGKILL);
    kill(shell_, SIGKILL);
    waitpid(shell_, nullptr, 0);
  }

  termios Now() const {
    termios mode{};
    EXPECT_EQ(tcgetattr(controller_.get(), &mode), 0);
    return mode;
  }
  bool IsAsBefore() const {
    const termios now = Now();
    return now.c_iflag == before_.c_iflag && now.c_oflag == before_.c_oflag &&
           now.c_cflag == before_.c_cflag && now.c_lflag == before_.c_lflag &&
           std::memcmp(now.c_cc, before_.c_cc, sizeof now.c_cc) == 0;
  }
  bool BecomesRaw() const {
    for (int i = 0; i < 1000; ++i) {
      if (!(Now().c_lflag & ICANON)) return true;
      std::this_thread::sleep_for(10ms);
    }
    return false;
  }
  void Signal(int signal) const { kill(job_, signal); }
  void Type(std::string_view text) const {
    EXPECT_EQ(write(controller_.get(), text.data(), text.size()),
              static_cast<ssize_t>(text.size()));
  }
  // Everything on the screen until `text` is there.
  std::string ReadUntil(std::string_view text) const {
    std::string screen;
    pollfd entry{controller_.get(), POLLIN, 0};
    while (screen.find(text) == std::string::npos && poll(&entry, 1, 10'000) > 0) {
      std::array<char, 512> piece{};
      const ssize_t count = read(controller_.get(), piece.data(), piece.size());
      if (count <= 0) break;
      screen.append(piece.data(), static_cast<size_t>(count));
    }
    return screen;
  }
  // The job's next change of state, as waitpid() gives it; the terminal is then the shell's.
  int WaitForJob() const { return NextReport(); }
  void Continue() const { Command('c'); }                   // in the foreground, with SIGCONT
  void BringToForegroundSilently() const { Command('f'); }  // a running job gets no signal

 private:
  int NextReport() const {
    pollfd entry{reports_.get(), POLLIN, 0};
    int report = -1;
    if (poll(&entry, 1, 30'000) != 1 || read(reports_.get(), &report, sizeof report) != 4)
      ADD_FAILURE() << "the shell tells nothing";
    return report;
  }
  void Command(char command) const { EXPECT_EQ(write(commands_.get(), &command, 1), 1); }

  [[noreturn]] static void RunShell(int terminal, int commands, int reports,
                                    const std::function<void()>& body, StartIn where) {
    signal(SIGTTOU, SIG_IGN);
    setsid();
    ioctl(terminal, TIOCSCTTY, 0);
    const pid_t job = fork();
    if (job == 0) RunJob(terminal, body, where);
    setpgid(job, job);
    if (where == StartIn::kForeground) tcsetpgrp(terminal, job);
    Report(reports, job);
    while (true) {
      int status = 0;
      const pid_t changed = waitpid(job, &status, WUNTRACED | WNOHANG);
      if (changed == job) {
        tcsetpgrp(terminal, getpgrp());
        Report(reports, status);
      }
      char command = 0;
      pollfd entry{commands, POLLIN, 0};
      if (poll(&entry, 1, 10) != 1 || read(commands, &command, 1) != 1) continue;
      tcsetpgrp(terminal, job);
      if (command == 'c') kill(-job, SIGCONT);
    }
  }
  static void Report(int reports, int value) {
    if (write(reports, &value, sizeof value) < 0) _exit(1);
  }
  [[noreturn]] static void RunJob(int terminal, const std::function<void()>& body, StartIn where) {
    setpgid(0, 0);
    while (where == StartIn::kForeground && tcgetpgrp(terminal) != getpgrp())
      std::this_thread::sleep_for(1ms);
    signal(SIGTTOU, SIG_DFL);
    dup2(terminal, STDIN_FILENO);
    dup2(terminal, STDOUT_FILENO);
    body();
    _exit(0);
  }

  UniqueFd controller_;
  UniqueFd commands_;
  UniqueFd reports_;
  termios before_{};
  pid_t shell_ = -1;
  pid_t job_ = -1;
};

std::unique_ptr<Console> OpenStdio(std::function<void()> quit = [] {}) {
  auto console = Console::Open(ConsoleConfig{}, std::move(quit));
  if (!console.ok()) _exit(99);
  return std::move(console).value();
}

// Lets the test see that the terminal is raw before the process goes on to its end.
void WaitForKey(Console& console) {
  std::array<std::byte, 1> key{};
  while (console.port().Receive(key) == 0) std::this_thread::sleep_for(1ms);
}

struct WayOut {
  const char* name;
  void (*leave)(std::unique_ptr<Console> console);
  bool by_signal;
};

// Not through a null pointer: the sanitizers would end that themselves.
[[gnu::noinline]] void Crash() {
  volatile int* volatile nowhere = reinterpret_cast<int*>(uintptr_t{4096});
  *nowhere = 1;
}

const WayOut kWaysOut[] = {
    {"Finish", [](std::unique_ptr<Console> console) { console->Finish(); }, false},
    {"Destructor", [](std::unique_ptr<Console> console) { console.reset(); }, false},
    {"ExitInTheMiddle", [](std::unique_ptr<Console>) { std::exit(0); }, false},
    {"Abort", [](std::unique_ptr<Console>) { std::abort(); }, true},
    {"Crash", [](std::unique_ptr<Console>) { Crash(); }, true},
    {"CrashOfAnotherThread",
     [](std::unique_ptr<Console>) {
       auto thread = Thread::Start("crashing", [] { Crash(); });
       pause();
     },
     true},
    {"Sigterm", [](std::unique_ptr<Console>) { raise(SIGTERM); }, true},
    {"Sighup", [](std::unique_ptr<Console>) { raise(SIGHUP); }, true},
    {"Sigint", [](std::unique_ptr<Console>) { raise(SIGINT); }, true},
    {"Sigquit", [](std::unique_ptr<Console>) { raise(SIGQUIT); }, true},
    {"Sigusr1", [](std::unique_ptr<Console>) { raise(SIGUSR1); }, true},
};

class WaysOut : public testing::TestWithParam<WayOut> {};

TEST_P(WaysOut, LeaveTheTerminalAsItWas) {
  const Session session([] {
    close(STDERR_FILENO);  // sanitizers report our crashes
    std::unique_ptr<Console> console = OpenStdio();
    WaitForKey(*console);
    GetParam().leave(std::move(console));
  });
  ASSERT_TRUE(session.BecomesRaw());
  EXPECT_TRUE(session.Now().c_oflag & OLCUC);  // output is none of our business
  session.Type("k");
  const int status = session.WaitForJob();
  EXPECT_TRUE(session.IsAsBefore());
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
  EXPECT_EQ(WIFSIGNALED(status), GetParam().by_signal);
#else
  static_cast<void>(status);
#endif
}

INSTANTIATE_TEST_SUITE_P(, WaysOut, testing::ValuesIn(kWaysOut),
                         [](const auto& test) { return std::string(test.param.name); });

TEST(Terminal, StoppingGivesItBackAndContinuingTakesItAgain) {
  const Session session([] {
    std::unique_ptr<Console> console = OpenStdio();
    WaitForKey(*console);
    console->Finish();
  });
  ASSERT_TRUE(session.BecomesRaw());
  session.Signal(SIGTSTP);
  ASSERT_TRUE(WIFSTOPPED(session.WaitForJob()));
  EXPECT_TRUE(session.IsAsBefore());
  session.Continue();
  ASSERT_TRUE(session.BecomesRaw());
  session.Type("k");
  EXPECT_TRUE(WIFEXITED(session.WaitForJob()));
  EXPECT_TRUE(session.IsAsBefore());
}

TEST(Terminal, ABackgroundJobLeavesItAloneUntilItIsInTheForeground) {
  const Session session(
      [] {
        std::unique_ptr<Console> console = OpenStdio();
        WaitForKey(*console);
        console->Finish();
      },
      StartIn::kBackground);
  std::this_thread::sleep_for(300ms);
  EXPECT_TRUE(session.IsAsBefore());
  session.BringToForegroundSilently();
  ASSERT_TRUE(session.BecomesRaw());
  session.Type("k");
  const int status = session.WaitForJob();
  EXPECT_TRUE(WIFEXITED(status)) << status;  // not stopped by SIGTTIN or SIGTTOU
  EXPECT_TRUE(session.IsAsBefore());
}

TEST(Terminal, IsNotTouchedWhenItIsNotTheConsole) {
  const Session session([] {
    auto console = Console::Open({ConsoleMode::kFile, "/dev/null"}, [] {});
    if (!console.ok()) _exit(99);
    if (write(STDOUT_FILENO, "OPEN", 4) != 4) _exit(98);
    pause();
  });
  session.ReadUntil("OPEN");
  EXPECT_TRUE(session.IsAsBefore());
}

TEST(Terminal, CommandsAreFoundInWhatIsTyped) {
  const Session session([] {
    bool quit = false;
    std::unique_ptr<Console> console = OpenStdio([&quit] { __atomic_store_n(&quit, true, 5); });
    std::string got;
    while (!__atomic_load_n(&quit, 5)) {
      std::array<std::byte, 16> keys{};
      const size_t count = console->port().Receive(keys);
      for (size_t i = 0; i < count; ++i) got.push_back(static_cast<char>(keys[i]));
      std::this_thread::sleep_for(1ms);
    }
    const bool blocking = (fcntl(STDIN_FILENO, F_GETFL) & O_NONBLOCK) == 0;
    console->Finish();
    _exit(got == "ab\x01\x03\r" && blocking ? 42 : 1);
  });
  ASSERT_TRUE(session.BecomesRaw());
  session.Type("ab\x01\x01\x03\r\x01?");
  EXPECT_NE(session.ReadUntil("THIS HELP").find("CTRL-A X"), std::string::npos);  // OLCUC
  session.Type("\x01x");
  const int status = session.WaitForJob();
  EXPECT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 42);
  EXPECT_TRUE(session.IsAsBefore());
}

}  // namespace
}  // namespace skiff
