#include <fcntl.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <string>
#include <string_view>

#include "base/log.h"
#include "base/overloaded.h"
#include "vmm/options.h"
#include "vmm/outcome.h"
#include "vmm/run.h"

namespace skiff {
namespace {

int Print(const std::string& text) {
  std::string_view rest = text;
  while (!rest.empty()) {
    const ssize_t written = write(STDOUT_FILENO, rest.data(), rest.size());
    if (written < 0) return kStatusSkiffFailed;
    rest.remove_prefix(static_cast<size_t>(written));
  }
  return 0;
}

int Run(const Config& config) {
  SetLogLevel(config.log_level);
  // The name as `ps` shows it; at most 15 bytes of it.
  if (!config.name.empty()) prctl(PR_SET_NAME, config.name.c_str());
  const Outcome outcome = RunGuest(config);
  const std::string who = config.name.empty() ? "" : config.name + ": ";
  LogError(who + Describe(outcome));
  return ExitStatus(outcome);
}

// A descriptor that we open must not become standard input, output or error because the caller
// closed them.
void FillStandardDescriptors() {
  for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; ++fd)
    if (fcntl(fd, F_GETFD) < 0) open("/dev/null", O_RDWR);
}

int Main(int argc, const char* const* argv) {
  FillStandardDescriptors();
  const Result<Command> command = ParseCommandLine(argc, argv);
  if (!command.ok()) {
    LogError(command.error().message());
    return kStatusSkiffFailed;
  }
  return std::visit(Overloaded{[](const PrintText& print) { return Print(print.text); },
                               [](const Config& config) { return Run(config); }},
                    *command);
}

}  // namespace
}  // namespace skiff

int main(int argc, char** argv) { return skiff::Main(argc, argv); }
