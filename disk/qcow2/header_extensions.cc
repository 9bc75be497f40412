#include "disk/qcow2/header_extensions.h"

#include <algorithm>
#include <cstring>
#include <string_view>

#include "base/arith.h"

namespace skiff::qcow2 {
namespace {

constexpr size_t kMaxFormatName = 15;  // QEMU's limit
constexpr size_t kAlignment = 8;

std::string_view TextOf(std::span<const std::byte> data) {
  return {reinterpret_cast<const char*>(data.data()), data.size()};
}

Result<void> Keep(uint32_t type, std::span<const std::byte> data, Header& header) {
  if (type == kExtensionBackingFormat) {
    if (data.size() > kMaxFormatName) return Corrupt("the backing format's name is too long");
    header.backing_format = TextOf(data);
    return {};
  }
  if (type == kExtensionExternalDataFile) header.data_file = TextOf(data);
  header.extensions.push_back({type, {data.begin(), data.end()}});
  return {};
}

// "" if the table does not name it. qcow2, "Feature name table".
std::string NameOfBit(const Header& header, uint32_t bit) {
  const Extension* const table = header.Find(kExtensionFeatureNames);
  if (table == nullptr) return "";
  for (size_t at = 0; at + sizeof(FeatureName) <= table->data.size(); at += sizeof(FeatureName)) {
    FeatureName name;
    std::memcpy(&name, table->data.data() + at, sizeof(name));
    if (name.type != std::byte{0} || static_cast<uint32_t>(name.bit) != bit) continue;
    return {name.name, strnlen(name.name, sizeof(name.name))};
  }
  return "";
}

void Append(std::vector<std::byte>& out, uint32_t type, std::span<const std::byte> data) {
  const ExtensionHeader head{type, static_cast<uint32_t>(data.size())};
  const auto bytes = std::as_bytes(std::span(&head, 1));
  out.insert(out.end(), bytes.begin(), bytes.end());
  out.insert(out.end(), data.begin(), data.end());
  out.resize(AlignUp(out.size(), kAlignment));
}

}  // namespace

Result<void> ParseExtensions(std::span<const std::byte> start, uint64_t backing_name_at,
                             Header& header) {
  uint64_t end = std::min<uint64_t>(start.size(), header.geometry.cluster_size());
  if (backing_name_at != 0) end = std::min(end, backing_name_at);
  uint64_t at = header.header_length;
  header.extensions_end = at;
  while (at + sizeof(ExtensionHeader) <= end) {
    ExtensionHeader head;
    std::memcpy(&head, start.data() + at, sizeof(head));
    at += sizeof(head);
    if (head.type == kExtensionEnd) return {};
    if (head.length > end - at) return Corrupt("header extension too large");
    TRY(Keep(head.type, start.subspan(at, head.length), header));
    at += AlignUp(uint64_t{head.length}, kAlignment);
    header.extensions_end = at;
  }
  return {};
}

Result<void> CheckFeatures(const Header& header) {
  std::string names;
  for (uint32_t bit = 0; bit < 64; ++bit) {
    const uint64_t mask = uint64_t{1} << bit;
    if (!header.Has(mask) || (kIncompatKnown & mask) != 0) continue;
    const std::string name = NameOfBit(header, bit);
    names += (names.empty() ? "" : ", ") +
             (name.empty() ? "unknown incompatible feature bit " + std::to_string(bit) : name);
  }
  if (names.empty()) return {};
  return Unsupported("unsupported qcow2 feature(s): " + names);
}

std::vector<std::byte> EncodeExtensions(const Header& header) {
  std::vector<std::byte> out;
  if (!header.backing_format.empty())
    Append(out, kExtensionBackingFormat, std::as_bytes(std::span(header.backing_format)));
  for (const Extension& extension : header.extensions) Append(out, extension.type, extension.data);
  Append(out, kExtensionEnd, {});
  return out;
}

}  // namespace skiff::qcow2
