#include "disk/tool/common/size_text.h"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <cmath>
#include <optional>

#include "base/arith.h"

namespace skiff::tool {
namespace {

constexpr std::string_view kSuffixes = "bkmgtpe";

Error NoSize(std::string_view text) { return Invalid("no size: '" + std::string(text) + "'"); }

// By how many bits a suffix moves; nullopt: there is none.
std::optional<uint32_t> ShiftOf(char suffix) {
  const size_t at = kSuffixes.find(static_cast<char>(suffix | 0x20));
  if (at == std::string_view::npos) return std::nullopt;
  return static_cast<uint32_t>(10 * at);
}

Result<uint64_t> ParseHex(std::string_view text) {
  uint64_t value = 0;
  const char* const end = text.data() + text.size();
  const auto parsed = std::from_chars(text.data() + 2, end, value, 16);
  if (parsed.ec != std::errc() || parsed.ptr != end) return NoSize(text);
  return value;
}

}  // namespace

Result<uint64_t> ParseSize(std::string_view text) {
  if (text.starts_with("0x") || text.starts_with("0X")) return ParseHex(text);
  uint64_t whole = 0;
  const char* at = text.data();
  const char* const end = at + text.size();
  const auto parsed = std::from_chars(at, end, whole);
  if (parsed.ec == std::errc::result_out_of_range) return OutOfRange("the size is too large");
  if (parsed.ec != std::errc()) return NoSize(text);
  at = parsed.ptr;
  double fraction = 0;
  if (at != end && *at == '.') {
    double scale = 0.1;
    for (++at; at != end && *at >= '0' && *at <= '9'; ++at, scale /= 10)
      fraction += (*at - '0') * scale;
  }
  uint32_t shift = 0;
  if (at != end) {
    const std::optional<uint32_t> known = ShiftOf(*at++);
    if (!known || at != end) return NoSize(text);
    shift = *known;
  }
  if (fraction != 0 && shift == 0) return NoSize(text);
  const auto bytes = CheckedMultiply(whole, uint64_t{1} << shift);
  const auto part =
      static_cast<uint64_t>(std::llround(std::ldexp(fraction, static_cast<int>(shift))));
  const auto sum = bytes ? CheckedAdd(*bytes, part) : std::nullopt;
  if (!sum || *sum > INT64_MAX) return OutOfRange("the size is too large");
  return *sum;
}

std::string HumanSize(uint64_t bytes) {
  constexpr std::array kUnits = {"", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"};
  // The unit in which it has at most three digits before the point.
  int exponent = 0;
  std::frexp(static_cast<double>(bytes) / (1000.0 / 1024.0), &exponent);
  const int unit = exponent <= 0 ? 0 : (exponent - 1) / 10;
  const double value = std::ldexp(static_cast<double>(bytes), -10 * unit);
  return fmt::format("{:.3g} {}B", value, kUnits[static_cast<size_t>(unit)]);
}

}  // namespace skiff::tool
