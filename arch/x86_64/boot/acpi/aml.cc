#include "arch/x86_64/boot/acpi/aml.h"

#include <utility>

namespace skiff::x86_64::aml {

namespace {

using Bytes = std::vector<std::byte>;

// ACPI 6.4, 20.3 "AML Byte Stream Byte Values".
constexpr std::byte kZeroOp{0x00};
constexpr std::byte kOneOp{0x01};
constexpr std::byte kNameOp{0x08};
constexpr std::byte kBytePrefix{0x0a};
constexpr std::byte kWordPrefix{0x0b};
constexpr std::byte kDWordPrefix{0x0c};
constexpr std::byte kStringPrefix{0x0d};
constexpr std::byte kQWordPrefix{0x0e};
constexpr std::byte kScopeOp{0x10};
constexpr std::byte kBufferOp{0x11};
constexpr std::byte kPackageOp{0x12};
constexpr std::byte kExtOpPrefix{0x5b};
constexpr std::byte kDeviceOp{0x82};

void Append(Bytes& to, const Bytes& bytes) { to.insert(to.end(), bytes.begin(), bytes.end()); }

void AppendText(Bytes& to, std::string_view text) {
  for (const char c : text) to.push_back(static_cast<std::byte>(c));
}

void AppendLittleEndian(Bytes& to, uint64_t value, size_t bytes) {
  for (size_t i = 0; i < bytes; ++i) to.push_back(static_cast<std::byte>(value >> (8 * i)));
}

// PkgLength counts itself (ACPI 6.4, 20.2.4 "Package Length Encoding"). One byte holds lengths
// below 64; else the first has the number of bytes that follow and the lowest four bits.
Bytes WithPackageLength(const Bytes& content) {
  size_t length_bytes = 1;
  size_t limit = size_t{1} << 6;
  while (content.size() + length_bytes >= limit) {
    ++length_bytes;
    limit = size_t{1} << (4 + 8 * (length_bytes - 1));
  }
  const size_t length = content.size() + length_bytes;
  Bytes result;
  if (length_bytes == 1) {
    result.push_back(static_cast<std::byte>(length));
  } else {
    result.push_back(static_cast<std::byte>((length_bytes - 1) << 6 | (length & 0xf)));
    AppendLittleEndian(result, length >> 4, length_bytes - 1);
  }
  Append(result, content);
  return result;
}

template <typename Element>
void AppendAll(Bytes& to, const std::vector<Element>& elements) {
  for (const Element& element : elements) Append(to, element.bytes);
}

Term Block(Bytes opcode, NameSegment name, const std::vector<Term>& terms) {
  Bytes content;
  AppendText(content, name.text());
  AppendAll(content, terms);
  Append(opcode, WithPackageLength(content));
  return {std::move(opcode)};
}

}  // namespace

Data Integer(uint64_t value) {
  if (value == 0) return {{kZeroOp}};
  if (value == 1) return {{kOneOp}};
  const bool byte = value <= UINT8_MAX, word = value <= UINT16_MAX, dword = value <= UINT32_MAX;
  Data data{{byte ? kBytePrefix : word ? kWordPrefix : dword ? kDWordPrefix : kQWordPrefix}};
  AppendLittleEndian(data.bytes, value, byte ? 1 : word ? 2 : dword ? 4 : 8);
  return data;
}

Data String(std::string_view text) {
  Data data{{kStringPrefix}};
  AppendText(data.bytes, text);
  data.bytes.push_back(std::byte{0});
  return data;
}

Data Id(EisaId id) {
  Data data{{kDWordPrefix}};
  AppendLittleEndian(data.bytes, id.value(), 4);
  return data;
}

Data Package(const std::vector<Data>& elements) {
  Bytes content = {static_cast<std::byte>(elements.size())};
  AppendAll(content, elements);
  Data data{{kPackageOp}};
  Append(data.bytes, WithPackageLength(content));
  return data;
}

Data ResourceTemplate(const std::vector<Resource>& resources) {
  Bytes list;
  AppendAll(list, resources);
  // ACPI 6.4, 6.4.2.9 "End Tag"; checksum 0 means that there is none.
  list.push_back(std::byte{0x79});
  list.push_back(std::byte{0});
  Bytes content = Integer(list.size()).bytes;
  Append(content, list);
  Data data{{kBufferOp}};
  Append(data.bytes, WithPackageLength(content));
  return data;
}

Term Name(NameSegment name, const Data& value) {
  Term term{{kNameOp}};
  AppendText(term.bytes, name.text());
  Append(term.bytes, value.bytes);
  return term;
}

Term Device(NameSegment name, const std::vector<Term>& terms) {
  return Block({kExtOpPrefix, kDeviceOp}, name, terms);
}

Term Scope(NameSegment name, const std::vector<Term>& terms) {
  return Block({kScopeOp}, name, terms);
}

}  // namespace skiff::x86_64::aml
