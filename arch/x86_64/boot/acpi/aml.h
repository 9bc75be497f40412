#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string_view>
#include <vector>

// ACPI Machine Language, as much of it as describes a fixed machine: ACPI 6.4, 20 "ACPI Machine
// Language (AML) Specification". Each kind of grammar element has its own type, so what does not
// belong together does not compile:
//
//   aml::Term device = aml::Device("COM1", {aml::Name("_UID", aml::Integer(0))});
namespace skiff::x86_64::aml {

// Encoded bytes of one grammar element.
template <typename Grammar>
struct Encoded {
  std::vector<std::byte> bytes;
};

using Data = Encoded<struct DataGrammar>;          // DataRefObject: what a name stands for
using Term = Encoded<struct TermGrammar>;          // TermObj: a name, device or scope
using Resource = Encoded<struct ResourceGrammar>;  // a resource descriptor, see resources.h

// Not to be called when compiling: that is the error message.
void NotANameOfAcpi();
void NotAnEisaId();

// Four characters, checked when compiled.
class NameSegment {
 public:
  consteval NameSegment(const char (&text)[5]) : text_{text[0], text[1], text[2], text[3]} {
    for (int i = 0; i < 4; ++i) {
      const bool letter = text[i] == '_' || (text[i] >= 'A' && text[i] <= 'Z');
      const bool digit = text[i] >= '0' && text[i] <= '9';
      if (!letter && (i == 0 || !digit)) NotANameOfAcpi();
    }
  }
  std::string_view text() const { return {text_, 4}; }

 private:
  char text_[4];
};

// A seven-character Plug and Play identifier such as PNP0A03, checked when compiled.
class EisaId {
 public:
  consteval EisaId(const char (&text)[8]) : value_(Compress(text)) {}
  constexpr uint32_t value() const { return value_; }

 private:
  // ACPI 6.4, 19.6.36 "EISAID": three letters of five bits and four hexadecimal digits, as a
  // big-endian number.
  static consteval uint32_t Compress(const char (&text)[8]) {
    uint32_t value = 0;
    for (int i = 0; i < 3; ++i) {
      if (text[i] < 'A' || text[i] > 'Z') NotAnEisaId();
      value = value << 5 | static_cast<uint32_t>(text[i] - 'A' + 1);
    }
    for (int i = 3; i < 7; ++i) {
      const bool digit = text[i] >= '0' && text[i] <= '9';
      if (!digit && (text[i] < 'A' || text[i] > 'F')) NotAnEisaId();
      value = value << 4 | static_cast<uint32_t>(digit ? text[i] - '0' : text[i] - 'A' + 10);
    }
    return __builtin_bswap32(value);
  }
  uint32_t value_;
};

Data Integer(uint64_t value);
Data String(std::string_view text);  // ASCII
Data Id(EisaId id);
// At most 255 elements.
Data Package(const std::vector<Data>& elements);
Data ResourceTemplate(const std::vector<Resource>& resources);

Term Name(NameSegment name, const Data& value);
Term Device(NameSegment name, const std::vector<Term>& terms);
// Opens the predefined scope of that name, such as _SB_.
Term Scope(NameSegment name, const std::vector<Term>& terms);

}  // namespace skiff::x86_64::aml
