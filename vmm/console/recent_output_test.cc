#include "vmm/console/recent_output.h"

#include <gtest/gtest.h>

namespace skiff {
namespace {

void Append(RecentOutput& recent, std::string_view text) {
  recent.Append(std::as_bytes(std::span(text)));
}

TEST(RecentOutput, KeepsShortOutputWhole) {
  RecentOutput recent;
  EXPECT_EQ(recent.Text(), "");
  Append(recent, "no line end");
  EXPECT_EQ(recent.Text(), "no line end");
}

TEST(RecentOutput, KeepsTheEndFromTheStartOfALineOn) {
  RecentOutput recent;
  std::string all;
  for (int i = 0; i < 1000; ++i) {
    const std::string line = "line " + std::to_string(i) + "\n";
    Append(recent, line);
    all += line;
  }
  const std::string text = recent.Text();
  EXPECT_TRUE(all.ends_with(text));
  EXPECT_TRUE(text.starts_with("line "));
  EXPECT_GT(text.size(), 4000U);
  EXPECT_LE(text.size(), 4096U);
}

TEST(RecentOutput, TakesMoreThanItHoldsAtOnce) {
  RecentOutput recent;
  Append(recent, std::string(10'000, 'a') + std::string(4096, 'b'));
  EXPECT_EQ(recent.Text(), std::string(4096, 'b'));
}

TEST(RecentOutput, LeavesOutWhatSteersATerminal) {
  RecentOutput recent;
  Append(recent,
         "a\x1b]0;title\x07\r\n\x9b"
         "2J\tb\xff");
  EXPECT_EQ(recent.Text(), "a]0;title\n2J\tb");
}

}  // namespace
}  // namespace skiff
