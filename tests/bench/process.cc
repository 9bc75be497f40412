#include "tests/bench/process.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>

namespace skiff::bench {
namespace {

struct Pipe {
  UniqueFd read_end;
  UniqueFd write_end;
};

Result<Pipe> MakePipe() {
  std::array<int, 2> ends{};
  if (pipe2(ends.data(), O_CLOEXEC) != 0) return Error::FromErrno("making a pipe");
  return Pipe{UniqueFd(ends[0]), UniqueFd(ends[1])};
}

[[noreturn]] void Become(std::vector<char*>& words, const Pipe& input, const Pipe& output,
                         void (*prepare)()) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  dup2(input.read_end.get(), STDIN_FILENO);
  dup2(output.write_end.get(), STDOUT_FILENO);
  if (prepare) prepare();
  execvp(words[0], words.data());
  _exit(127);
}

}  // namespace

Result<Process> Process::Start(const std::vector<std::string>& command, void (*prepare)()) {
  Pipe input = TRY(MakePipe());
  Pipe output = TRY(MakePipe());
  std::vector<char*> words;
  for (const std::string& word : command) words.push_back(const_cast<char*>(word.c_str()));
  words.push_back(nullptr);
  const Clock::time_point started = Clock::now();
  const int pid = fork();
  if (pid < 0) return Error::FromErrno("making a process");
  if (pid == 0) Become(words, input, output, prepare);
  return Process(pid, started, std::move(input.write_end), std::move(output.read_end));
}

Process::Process(Process&& other) noexcept
    : pid_(std::exchange(other.pid_, -1)),
      started_(other.started_),
      input_(std::move(other.input_)),
      output_(std::move(other.output_)),
      text_(std::move(other.text_)),
      behind_(other.behind_) {}

Process::~Process() {
  if (pid_ < 0) return;
  kill(pid_, SIGKILL);
  waitpid(pid_, nullptr, 0);
}

Result<std::string> Process::AwaitLine(std::string_view text, std::chrono::seconds limit) {
  const Clock::time_point deadline = Clock::now() + limit;
  while (true) {
    const size_t at = text_.find(text, behind_);
    const size_t end = at == std::string::npos ? at : text_.find('\n', at);
    if (end != std::string::npos) {
      behind_ = end + 1;
      return text_.substr(at, end - at - (end > at && text_[end - 1] == '\r' ? 1 : 0));
    }
    auto read = ReadMore(deadline);
    if (!read.ok())
      return std::move(read).error().While("waiting for \"" + std::string(text) + "\"");
  }
}

Result<void> Process::ReadMore(Clock::time_point deadline) {
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now()).count();
  pollfd watched{output_.get(), POLLIN, 0};
  if (left <= 0 || poll(&watched, 1, static_cast<int>(left)) <= 0)
    return Invalid("time is over; the output so far:\n" + text_);
  std::array<char, 4096> buffer;
  const ssize_t got = read(output_.get(), buffer.data(), buffer.size());
  if (got <= 0) return Invalid("the output ended; it was:\n" + text_);
  text_.append(buffer.data(), static_cast<size_t>(got));
  return {};
}

}  // namespace skiff::bench
