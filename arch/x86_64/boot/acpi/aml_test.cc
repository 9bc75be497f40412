#include "arch/x86_64/boot/acpi/aml.h"

#include <gtest/gtest.h>

#include <string>

#include "arch/x86_64/boot/acpi/resources.h"

namespace skiff::x86_64::aml {
namespace {

std::vector<std::byte> Bytes(std::initializer_list<int> values) {
  std::vector<std::byte> bytes;
  for (const int value : values) bytes.push_back(static_cast<std::byte>(value));
  return bytes;
}

struct Number {
  const char* name;
  uint64_t value;
  std::vector<std::byte> bytes;
};

class IntegerEncoding : public testing::TestWithParam<Number> {};

TEST_P(IntegerEncoding, TakesTheShortestForm) {
  EXPECT_EQ(Integer(GetParam().value).bytes, GetParam().bytes);
}

INSTANTIATE_TEST_SUITE_P(
    , IntegerEncoding,
    testing::Values(Number{"Zero", 0, Bytes({0x00})}, Number{"One", 1, Bytes({0x01})},
                    Number{"Two", 2, Bytes({0x0a, 2})}, Number{"Byte", 0xff, Bytes({0x0a, 0xff})},
                    Number{"Word", 0x100, Bytes({0x0b, 0x00, 0x01})},
                    Number{"DWord", 0x12345678, Bytes({0x0c, 0x78, 0x56, 0x34, 0x12})},
                    Number{"QWord", 0x100000000, Bytes({0x0e, 0, 0, 0, 0, 1, 0, 0, 0})}),
    [](const auto& test) { return std::string(test.param.name); });

TEST(Aml, EisaIdIsTheKnownNumber) {
  EXPECT_EQ(EisaId("PNP0A03").value(), 0x030ad041u);
  EXPECT_EQ(EisaId("PNP0501").value(), 0x0105d041u);
}

// The encoded length must reach exactly to the end, with as few length bytes as can be.
TEST(Aml, PackageLengthIsExactAtEveryBorder) {
  constexpr size_t kOpcode = 1, kCount = 1, kTextAround = 2;
  for (size_t text = 0; text < 5000; ++text) {
    const Data package = Package({String(std::string(text, 'x'))});
    const auto lead = std::to_integer<size_t>(package.bytes[1]);
    const size_t follow = lead >> 6;
    size_t length = follow == 0 ? lead & 0x3f : lead & 0xf;
    for (size_t i = 0; i < follow; ++i) {
      length |= std::to_integer<size_t>(package.bytes[2 + i]) << (4 + 8 * i);
    }
    ASSERT_EQ(length, package.bytes.size() - kOpcode) << text;
    const size_t content = kCount + kTextAround + text;
    ASSERT_EQ(follow, content + 1 < 64 ? 0u : content + 2 < 4096 ? 1u : 2u) << text;
  }
}

TEST(Aml, ResourceTemplateCountsItsEndTag) {
  const Data data = ResourceTemplate({IsaIrq(4)});
  EXPECT_EQ(data.bytes, Bytes({0x11, 8, 0x0a, 5, 0x22, 0x10, 0x00, 0x79, 0x00}));
}

TEST(Aml, WindowsAreInclusive) {
  const Resource window = BusNumbers(0, 0);
  EXPECT_EQ(window.bytes, Bytes({0x88, 13, 0, 2, 0x0c, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0}));
}

}  // namespace
}  // namespace skiff::x86_64::aml
