#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "disk/tool/io/session.h"

namespace skiff::io {

// The words of a command as getopt(3) wants them: the name first, a null at the end.
class Arguments {
 public:
  explicit Arguments(std::vector<std::string> words);
  Arguments(const Arguments&) = delete;
  Arguments& operator=(const Arguments&) = delete;

  // The next option's letter, '?' for a wrong one (then getopt has said so), -1 after the last.
  // `value`: the argument of the last one that takes one.
  int NextOption(const char* options);
  std::string value() const;

  // What is left after the options.
  std::vector<std::string> Operands() const;

  const std::string& name() const { return words_[0]; }
  size_t count() const { return words_.size() - 1; }

 private:
  std::vector<std::string> words_;
  std::vector<char*> pointers_;
};

inline constexpr int kAnyNumber = -1;

struct Command {
  std::string_view name;
  std::string_view short_name;  // empty: none
  int fewest;                   // arguments
  int most;                     // or kAnyNumber
  bool needs_image;
  bool writes;         // refused on an image that is open read-only
  const char* syntax;  // of the arguments; null: none
  const char* purpose;
  const char* details;  // for `help NAME`, may be empty
  // An error's message goes to stdout as a line; none if it is empty.
  Result<void> (*run)(Session& session, Arguments& arguments);
};

// In the order of `help`.
std::span<const Command> AllCommands();
const Command* FindCommand(std::string_view name);

// "read [-abCqv] … off len -- reads a number of bytes at a specified offset"
std::string UsageLine(const Command& command);
// The usage of the command that the arguments name, as an error.
Error WrongUsage(const Arguments& arguments);

// False if the command failed; that has been told.
bool RunLine(Session& session, const std::string& line);

// One group of commands in each file.
Result<void> Read(Session& session, Arguments& arguments);
Result<void> Write(Session& session, Arguments& arguments);
Result<void> ReadVector(Session& session, Arguments& arguments);
Result<void> WriteVector(Session& session, Arguments& arguments);
Result<void> AsyncRead(Session& session, Arguments& arguments);
Result<void> AsyncWrite(Session& session, Arguments& arguments);
Result<void> AsyncFlush(Session& session, Arguments& arguments);

Result<void> Flush(Session& session, Arguments& arguments);
Result<void> Discard(Session& session, Arguments& arguments);
Result<void> Truncate(Session& session, Arguments& arguments);
Result<void> Length(Session& session, Arguments& arguments);
Result<void> Info(Session& session, Arguments& arguments);
Result<void> Map(Session& session, Arguments& arguments);
Result<void> Alloc(Session& session, Arguments& arguments);

Result<void> OpenCommand(Session& session, Arguments& arguments);
Result<void> Reopen(Session& session, Arguments& arguments);
Result<void> CloseCommand(Session& session, Arguments& arguments);

Result<void> Help(Session& session, Arguments& arguments);
Result<void> Quit(Session& session, Arguments& arguments);
Result<void> Sleep(Session& session, Arguments& arguments);
Result<void> Abort(Session& session, Arguments& arguments);
Result<void> RaiseSignal(Session& session, Arguments& arguments);

}  // namespace skiff::io
