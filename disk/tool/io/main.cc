#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>

#include "disk/tool/io/command.h"
#include "disk/tool/io/options.h"

namespace skiff::io {
namespace {

std::string ProgramName(const char* path) {
  if (path == nullptr) return "skiff-io";
  const char* const slash = std::strrchr(path, '/');
  return slash != nullptr ? slash + 1 : path;
}

// The next line of standard input without its end; nullopt at the end.
std::optional<std::string> ReadLine() {
  std::string line;
  int c = std::getchar();
  if (c == EOF) return std::nullopt;
  for (; c != EOF && c != '\n'; c = std::getchar()) line.push_back(static_cast<char>(c));
  return line;
}

// What is told only once it is complete goes to stdout in order, and there at the latest when the
// next prompt is shown; else when the buffer is full. Both calls return false if a command failed.
bool RunCommands(Session& session, const std::vector<std::string>& commands) {
  bool all_well = true;
  for (const std::string& command : commands) {
    if (session.ended) break;
    all_well = RunLine(session, command) && all_well;
  }
  return all_well;
}

bool RunInput(Session& session) {
  bool all_well = true;
  while (!session.ended) {
    std::printf("%s> ", session.program.c_str());
    std::fflush(stdout);
    const std::optional<std::string> line = ReadLine();
    if (!line) break;
    all_well = RunLine(session, *line) && all_well;
    if (session.image) session.image->disk->Poll();
  }
  return all_well;
}

int Run(Session& session, const Invocation& invocation) {
  session.placement = invocation.placement;
  if (invocation.request && !OpenAndTell(session, *invocation.request).ok()) return EXIT_FAILURE;
  bool all_well =
      invocation.commands.empty() ? RunInput(session) : RunCommands(session, invocation.commands);
  all_well = CloseAndTell(session).ok() && all_well;
  all_well = std::fflush(stdout) == 0 && all_well;
  return all_well ? EXIT_SUCCESS : EXIT_FAILURE;
}

int Show(const ShowText& show) {
  std::fputs(show.text.c_str(), stdout);
  return std::fflush(stdout) == 0 ? show.status : EXIT_FAILURE;
}

int Main(int argc, char** argv) {
  Session session;
  session.program = ProgramName(argv[0]);
  const auto wanted = ParseCommandLine(argc, argv, session.program);
  if (!wanted.ok()) {
    session.Complain(wanted.error().message());
    return EXIT_FAILURE;
  }
  if (const auto* const show = std::get_if<ShowText>(&*wanted)) return Show(*show);
  return Run(session, *std::get_if<Invocation>(&*wanted));
}

}  // namespace
}  // namespace skiff::io

int main(int argc, char** argv) { return skiff::io::Main(argc, argv); }
