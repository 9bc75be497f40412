#include "disk/tool/io/numbers.h"

#include <array>
#include <cctype>
#include <cstdio>
#include <cstdlib>
#include <optional>

#include "base/arith.h"

namespace skiff::io {
namespace {

constexpr std::string_view kUnits = "bkmgtpe";  // powers of 1024

Error Malformed(std::string_view text) {
  return Invalid("Parsing error: non-numeric argument, or extraneous/unrecognized suffix -- " +
                 std::string(text));
}

Error TooLarge(std::string_view text) {
  return OutOfRange("Parsing error: argument too large -- " + std::string(text));
}

int DigitValue(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return 16;
}

// Takes the digits at the start of `text`. nullopt: too large for 64 bits.
std::optional<uint64_t> TakeDigits(std::string_view& text, int base) {
  std::optional<uint64_t> value = 0;
  while (!text.empty() && DigitValue(text.front()) < base) {
    if (value) value = CheckedMultiply(*value, static_cast<uint64_t>(base));
    if (value) value = CheckedAdd(*value, static_cast<uint64_t>(DigitValue(text.front())));
    text.remove_prefix(1);
  }
  return value;
}

// Takes ".25" and gives 0.25; 0 if there is no point.
double TakeFraction(std::string_view& text) {
  if (text.empty() || text.front() != '.') return 0;
  text.remove_prefix(1);
  double value = 0;
  for (double place = 0.1; !text.empty() && DigitValue(text.front()) < 10; place /= 10) {
    value += place * DigitValue(text.front());
    text.remove_prefix(1);
  }
  return value;
}

// Takes a unit's letter and gives its power of two; nullopt if it is none.
std::optional<uint32_t> TakeUnit(std::string_view& text) {
  if (text.empty()) return 0;
  const char letter = static_cast<char>(text.front() | 0x20);
  const size_t power = kUnits.find(letter);
  if (power == std::string_view::npos) return std::nullopt;
  text.remove_prefix(1);
  return static_cast<uint32_t>(10 * power);
}

bool TakeHexPrefix(std::string_view& text) {
  if (!text.starts_with("0x") && !text.starts_with("0X")) return false;
  text.remove_prefix(2);
  return true;
}

}  // namespace

std::vector<std::string> SplitWords(std::string_view line) {
  std::vector<std::string> words;
  while (!line.empty()) {
    const size_t length = line.substr(0, line.find(' ')).size();
    if (length > 0) words.emplace_back(line.substr(0, length));
    line.remove_prefix(length < line.size() ? length + 1 : length);
  }
  return words;
}

Result<uint64_t> ParseSize(std::string_view text) {
  std::string_view rest = text;
  // Words part at blanks, so tabs stay: as for strtoull(3), they may come first.
  while (!rest.empty() && std::isspace(static_cast<unsigned char>(rest.front())) != 0)
    rest.remove_prefix(1);
  if (rest.starts_with('+')) rest.remove_prefix(1);
  const bool hex = TakeHexPrefix(rest);
  if (rest.empty() || DigitValue(rest.front()) >= (hex ? 16 : 10)) return Malformed(text);
  const std::optional<uint64_t> whole = TakeDigits(rest, hex ? 16 : 10);
  const double fraction = hex ? 0 : TakeFraction(rest);
  const std::optional<uint32_t> unit = TakeUnit(rest);
  if (!unit || !rest.empty() || (fraction > 0 && *unit == 0)) return Malformed(text);
  if (!whole) return TooLarge(text);
  const uint64_t scale = uint64_t{1} << *unit;
  std::optional<uint64_t> value = CheckedMultiply(*whole, scale);
  if (value)
    value = CheckedAdd(*value, static_cast<uint64_t>(fraction * static_cast<double>(scale)));
  if (!value || *value > INT64_MAX) return TooLarge(text);
  return *value;
}

Result<uint8_t> ParsePattern(const std::string& text) {
  char* end = nullptr;
  const long value = std::strtol(text.c_str(), &end, 0);
  if (value < 0 || value > UINT8_MAX || *end != '\0')
    return Invalid(text + " is not a valid pattern byte");
  return static_cast<uint8_t>(value);
}

std::string FormatSize(double bytes) {
  static constexpr std::array kNames{"bytes", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  size_t unit = 0;
  while (bytes >= 1024 && unit + 1 < kNames.size()) {
    bytes /= 1024;
    ++unit;
  }
  const int places = unit == 0 ? 6 : 3;
  std::array<char, 64> text;
  const int length = std::snprintf(text.data(), text.size(), "%.*f", places, bytes);
  std::string number(text.data(), static_cast<size_t>(length));
  const std::string zeroes = "." + std::string(static_cast<size_t>(places), '0');
  if (number.ends_with(zeroes)) number.resize(number.size() - zeroes.size());
  return number + " " + kNames[unit];
}

}  // namespace skiff::io
