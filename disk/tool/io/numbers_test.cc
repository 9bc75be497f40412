#include "disk/tool/io/numbers.h"

#include <gtest/gtest.h>

#include "base/arith.h"

namespace skiff::io {
namespace {

using Words = std::vector<std::string>;

TEST(SplitWords, KnowsBlanksAndNothingElse) {
  EXPECT_EQ(SplitWords("write  -P 1 0 64k "), (Words{"write", "-P", "1", "0", "64k"}));
  EXPECT_EQ(SplitWords("  a\tb 'c d'"), (Words{"a\tb", "'c", "d'"}));
  EXPECT_EQ(SplitWords(""), Words());
  EXPECT_EQ(SplitWords("   "), Words());
}

TEST(ParseSize, KnowsUnitsFractionsAndHexadecimal) {
  const std::pair<const char*, uint64_t> sizes[] = {
      {"0", 0},
      {"512", 512},
      {"010", 10},
      {"+1", 1},
      {"\t8k", 8 * kKiB},
      {"1b", 1},
      {"4k", 4 * kKiB},
      {"4K", 4 * kKiB},
      {"3m", 3 * kMiB},
      {"2G", 2 * kGiB},
      {"1t", kGiB << 10},
      {"1P", kGiB << 20},
      {"7e", 7 * (kGiB << 30)},
      {"1.5k", 1536},
      {"0.1k", 102},
      {"1.", 1},
      {"1.0", 1},
      {"0x10", 16},
      {"0X1e", 30},
      {"0x10k", 16 * kKiB},
      {"9223372036854775807", INT64_MAX},
  };
  for (const auto& [text, bytes] : sizes) {
    const Result<uint64_t> parsed = ParseSize(text);
    ASSERT_TRUE(parsed.ok()) << text;
    EXPECT_EQ(*parsed, bytes) << text;
  }
}

TEST(ParseSize, RefusesWhatIsNone) {
  for (const char* const text :
       {"", "k", "x", "-1", "1.5", ".5k", "1e1", "1kB", "0x", "0x1.8", "1.5e1k", "inf", "1 "}) {
    const Result<uint64_t> parsed = ParseSize(text);
    ASSERT_FALSE(parsed.ok()) << text;
    EXPECT_EQ(parsed.error().code(), ErrorCode::kInvalid) << text;
  }
}

TEST(ParseSize, RefusesMoreThanAnOffsetHolds) {
  for (const char* const text : {"8e", "9E", "99E", "9223372036854775808", "99999999999999999999",
                                 "0xffffffffffffffff", "18446744073709551616k"}) {
    const Result<uint64_t> parsed = ParseSize(text);
    ASSERT_FALSE(parsed.ok()) << text;
    EXPECT_EQ(parsed.error().message(),
              std::string("Parsing error: argument too large -- ") + text);
  }
}

TEST(ParsePattern, TakesBytesOnly) {
  EXPECT_EQ(ParsePattern("0").value(), 0);
  EXPECT_EQ(ParsePattern("0xff").value(), 255);
  EXPECT_EQ(ParsePattern("010").value(), 8);
  for (const char* const text : {"256", "-1", "x", "0x", "1k"})
    EXPECT_FALSE(ParsePattern(text).ok()) << text;
}

TEST(FormatSize, ShowsThreePlacesOfUnitsAndSixOfBytes) {
  EXPECT_EQ(FormatSize(0), "0 bytes");
  EXPECT_EQ(FormatSize(512), "512 bytes");
  EXPECT_EQ(FormatSize(1.826257), "1.826257 bytes");
  EXPECT_EQ(FormatSize(1024), "1 KiB");
  EXPECT_EQ(FormatSize(131584), "128.500 KiB");
  EXPECT_EQ(FormatSize(3.0 * static_cast<double>(kGiB)), "3 GiB");
  EXPECT_EQ(FormatSize(static_cast<double>(INT64_MAX)), "8 EiB");
}

}  // namespace
}  // namespace skiff::io
