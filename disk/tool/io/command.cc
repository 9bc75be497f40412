#include "disk/tool/io/command.h"

#include <getopt.h>

#include <algorithm>
#include <cstdio>

#include "disk/tool/io/numbers.h"

namespace skiff::io {
namespace {

std::string ExpectedCount(const Command& command) {
  std::string fewest = std::to_string(command.fewest);
  if (command.most == kAnyNumber) return "at least " + fewest;
  if (command.most == command.fewest) return fewest;
  return "between " + fewest + " and " + std::to_string(command.most);
}

// Tells what is wrong before the command itself looks at its arguments.
Result<void> Check(const Session& session, const Command& command, const Arguments& arguments) {
  const auto count = static_cast<int>(arguments.count());
  if (command.needs_image && !session.image) {
    std::fputs("no file open, try 'help open'\n", stderr);
    return AlreadyTold();
  }
  const bool too_many = command.most != kAnyNumber && count > command.most;
  if (count < command.fewest || too_many) {
    std::fprintf(stderr, "bad argument count %d to %s, expected %s arguments\n", count,
                 arguments.name().c_str(), ExpectedCount(command).c_str());
    return AlreadyTold();
  }
  if (command.writes && session.image->disk->limits().read_only) {
    session.Complain("Block node is read-only");
    return AlreadyTold();
  }
  return {};
}

Result<void> RunCommand(Session& session, std::vector<std::string> words) {
  const Command* const command = FindCommand(words[0]);
  if (command == nullptr) {
    std::fprintf(stderr, "command \"%s\" not found\n", words[0].c_str());
    return AlreadyTold();
  }
  Arguments arguments(std::move(words));
  TRY(Check(session, *command, arguments));
  return command->run(session, arguments);
}

}  // namespace

Arguments::Arguments(std::vector<std::string> words) : words_(std::move(words)) {
  for (std::string& word : words_) pointers_.push_back(word.data());
  pointers_.push_back(nullptr);
  optind = 0;  // glibc: start anew
}

int Arguments::NextOption(const char* options) {
  return getopt(static_cast<int>(words_.size()), pointers_.data(), options);
}

std::string Arguments::value() const { return optarg != nullptr ? optarg : ""; }

std::vector<std::string> Arguments::Operands() const {
  const auto first = static_cast<size_t>(std::max(optind, 1));
  return {pointers_.begin() + static_cast<ptrdiff_t>(std::min(first, words_.size())),
          pointers_.end() - 1};
}

const Command* FindCommand(std::string_view name) {
  for (const Command& command : AllCommands()) {
    if (command.name == name || (!command.short_name.empty() && command.short_name == name))
      return &command;
  }
  return nullptr;
}

std::string UsageLine(const Command& command) {
  std::string line(command.name);
  if (command.syntax != nullptr) line += std::string(" ") + command.syntax;
  return line + " -- " + command.purpose;
}

Error WrongUsage(const Arguments& arguments) {
  const Command* const command = FindCommand(arguments.name());
  return Invalid(command != nullptr ? UsageLine(*command) : "");
}

bool RunLine(Session& session, const std::string& line) {
  std::vector<std::string> words = SplitWords(line);
  if (words.empty()) return true;
  const Result<void> done = RunCommand(session, std::move(words));
  if (!done.ok() && !done.error().message().empty()) std::puts(done.error().message().c_str());
  return done.ok();
}

}  // namespace skiff::io
