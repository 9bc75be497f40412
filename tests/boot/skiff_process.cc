#include "tests/boot/skiff_process.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>

namespace skiff::boot {
namespace {

using Clock = std::chrono::steady_clock;

struct Pipe {
  int read_end = -1;
  int write_end = -1;

  Pipe() {
    std::array<int, 2> ends{};
    if (pipe2(ends.data(), O_CLOEXEC) == 0) {
      read_end = ends[0];
      write_end = ends[1];
    }
  }
  void CloseWriteEnd() { close(std::exchange(write_end, -1)); }
  ~Pipe() {
    if (read_end >= 0) close(read_end);
    if (write_end >= 0) close(write_end);
  }
  Pipe(const Pipe&) = delete;
  Pipe& operator=(const Pipe&) = delete;
};

[[noreturn]] void Exec(const Launch& launch, const Pipe& out, const Pipe& err) {
  const int null = open("/dev/null", O_RDONLY | O_CLOEXEC);
  dup2(null, STDIN_FILENO);
  dup2(out.write_end, STDOUT_FILENO);
  dup2(err.write_end, STDERR_FILENO);
  std::vector<char*> words;
  for (const std::string& word : launch.arguments) words.push_back(const_cast<char*>(word.c_str()));
  words.push_back(nullptr);
  if (launch.user_id == 0) {
    execvp(words[0], words.data());
  } else {
    // Opened as root: the checkout may lie below a directory that the other user can't pass.
    const int program = open(words[0], O_RDONLY | O_CLOEXEC);
    if (setuid(launch.user_id) != 0) _exit(126);
    fexecve(program, words.data(), environ);
  }
  _exit(127);
}

// False at end of file.
bool ReadSome(int fd, std::string& into) {
  std::array<char, 65536> buffer;
  const ssize_t got = read(fd, buffer.data(), buffer.size());
  if (got > 0) into.append(buffer.data(), static_cast<size_t>(got));
  return got > 0;
}

// Reads both pipes until both end or time is up.
bool Drain(const Launch& launch, int pid, const Pipe& out, const Pipe& err, Finished& result) {
  const Clock::time_point deadline = Clock::now() + launch.limit;
  std::array<pollfd, 2> watched = {pollfd{launch.read_stdout ? out.read_end : -1, POLLIN, 0},
                                   pollfd{err.read_end, POLLIN, 0}};
  while (watched[0].fd >= 0 || watched[1].fd >= 0) {
    const auto left =
        std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now()).count();
    if (left <= 0 || poll(watched.data(), watched.size(), static_cast<int>(left)) <= 0)
      return false;
    if (watched[0].revents != 0) {
      if (!ReadSome(watched[0].fd, result.out)) watched[0].fd = -1;
      if (launch.on_output) launch.on_output(result.out, pid);
    }
    if (watched[1].revents != 0 && !ReadSome(watched[1].fd, result.err)) watched[1].fd = -1;
  }
  return true;
}

int Reap(int pid) {
  int status = 0;
  waitpid(pid, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

}  // namespace

Finished RunToEnd(const Launch& launch) {
  Pipe out;
  Pipe err;
  if (!launch.read_stdout) fcntl(out.write_end, F_SETPIPE_SZ, 4096);  // full soon
  Finished result;
  const Clock::time_point start = Clock::now();
  const int pid = fork();
  if (pid == 0) Exec(launch, out, err);
  out.CloseWriteEnd();
  err.CloseWriteEnd();
  if (Drain(launch, pid, out, err, result)) {
    result.status = Reap(pid);
  } else {
    kill(pid, SIGKILL);
    Reap(pid);
    ADD_FAILURE() << "had to be killed after " << launch.limit.count() << " s; its output:\n"
                  << result.out << result.err;
  }
  result.took = Clock::now() - start;
  return result;
}

}  // namespace skiff::boot
