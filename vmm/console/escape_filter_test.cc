#include "vmm/console/escape_filter.h"

#include <gtest/gtest.h>

#include <string_view>
#include <vector>

namespace skiff {
namespace {

struct Case {
  const char* name;
  std::string_view typed;
  std::string_view for_guest;
  std::vector<EscapeCommand> commands;
};

const Case kCases[] = {
    {"PlainText", "abc\r", "abc\r", {}},
    {"Quit", "a\x01x", "a", {EscapeCommand::kQuit}},
    {"QuitNeedsTheKeyDirectlyAfter", "\x01yx", "\x01yx", {}},
    {"Help", "\x01?\x01h?", "?", {EscapeCommand::kHelp, EscapeCommand::kHelp}},
    {"DoubledIsOne", "\x01\x01x", "\x01x", {}},
    {"WithLetterAIsOne",
     "\x01"
     "ax",
     "\x01x",
     {}},
    {"FourAreTwo", "\x01\x01\x01\x01", "\x01\x01", {}},
    {"OtherKeysGoThrough", "\x01k\x01\x1b[A", "\x01k\x01\x1b[A", {}},
    {"AloneWaits", "\x01", "", {}},
};

class Escapes : public testing::TestWithParam<Case> {};

TEST_P(Escapes, AreFound) {
  EscapeFilter filter;
  std::string for_guest;
  std::vector<EscapeCommand> commands;
  for (const char key : GetParam().typed) {
    const EscapeCommand command = filter.Feed(key, for_guest);
    if (command != EscapeCommand::kNone) commands.push_back(command);
  }
  EXPECT_EQ(for_guest, GetParam().for_guest);
  EXPECT_EQ(commands, GetParam().commands);
}

INSTANTIATE_TEST_SUITE_P(, Escapes, testing::ValuesIn(kCases),
                         [](const auto& test) { return std::string(test.param.name); });

}  // namespace
}  // namespace skiff
