// Commands about the program itself.

#include <csignal>
#include <cstdio>
#include <cstdlib>

#include <chrono>
#include <thread>

#include "disk/tool/io/command.h"
#include "disk/tool/io/numbers.h"

namespace skiff::io {

Result<void> Help(Session& /*session*/, Arguments& arguments) {
  const std::vector<std::string> operands = arguments.Operands();
  if (operands.empty()) {
    for (const Command& command : AllCommands()) std::puts(UsageLine(command).c_str());
    std::puts("\nUse 'help commandname' for extended help.");
    return {};
  }
  const Command* const command = FindCommand(operands[0]);
  if (command == nullptr) {
    std::printf("command %s not found\n", operands[0].c_str());
    return {};
  }
  std::puts(UsageLine(*command).c_str());
  std::fputs(command->details, stdout);
  return {};
}

Result<void> Quit(Session& session, Arguments& /*arguments*/) {
  session.ended = true;
  return {};
}

Result<void> Sleep(Session& session, Arguments& arguments) {
  const std::string word = arguments.Operands().empty() ? "" : arguments.Operands()[0];
  char* end = nullptr;
  errno = 0;
  const long milliseconds = std::strtol(word.c_str(), &end, 0);
  if (word.empty() || *end != '\0' || errno != 0 || milliseconds < 0)
    return Invalid(word + " is not a valid number");
  std::this_thread::sleep_for(std::chrono::milliseconds(milliseconds));
  if (session.image) session.image->disk->Poll();
  return {};
}

Result<void> Abort(Session& /*session*/, Arguments& /*arguments*/) { std::abort(); }

Result<void> RaiseSignal(Session& /*session*/, Arguments& arguments) {
  const std::string word = arguments.Operands().empty() ? "" : arguments.Operands()[0];
  const uint64_t number = TRY(ParseSize(word));
  if (number > NSIG)
    return Invalid("signal argument '" + word + "' is too large to be a valid signal");
  std::fflush(stdout);  // the signal may be the last that happens
  std::raise(static_cast<int>(number));
  return {};
}

}  // namespace skiff::io
