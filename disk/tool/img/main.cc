// skiff-img: finds the subcommand.

#include <array>
#include <csignal>
#include <cstdio>
#include <string_view>

#include "disk/tool/common/program.h"
#include "disk/tool/img/commands.h"
#include "disk/tool/img/help.h"

namespace skiff::tool {
namespace {

struct Subcommand {
  std::string_view name;
  int (*run)(int argc, char** argv);
};

constexpr std::array kSubcommands = {
    Subcommand{"bench", BenchCommand},   Subcommand{"check", CheckCommand},
    Subcommand{"create", CreateCommand}, Subcommand{"info", InfoCommand},
    Subcommand{"resize", ResizeCommand}, Subcommand{"snapshot", SnapshotCommand},
};

int Run(int argc, char** argv) {
  SetProgramName(argv[0]);
  if (argc < 2) return FailUsage("Not enough arguments");
  const std::string_view word = argv[1];
  if (word == "-h" || word == "--help") return PrintHelp();
  if (word == "-V" || word == "--version") return PrintVersion();
  if (word.starts_with("-")) return FailUsage("unrecognized option '" + std::string(word) + "'");
  for (const Subcommand& one : kSubcommands)
    if (one.name == word) return one.run(argc - 1, argv + 1);
  return FailUsage("Command not found: " + std::string(word));
}

}  // namespace
}  // namespace skiff::tool

int main(int argc, char** argv) {
  // A file that may not grow further is an error like any other.
  std::signal(SIGXFSZ, SIG_IGN);
  const int status = skiff::tool::Run(argc, argv);
  if (!skiff::tool::FlushOutput()) return skiff::tool::Fail("writing the output failed");
  return status;
}
