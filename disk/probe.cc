#include "disk/probe.h"

#include <array>
#include <cstring>

namespace skiff {
namespace {

// qcow2, "Header": the magic of all versions.
constexpr std::array<unsigned char, 4> kQcowMagic{'Q', 'F', 'I', 0xfb};

}  // namespace

std::optional<ImageFormat> ParseImageFormat(std::string_view name) {
  if (name == "raw") return ImageFormat::kRaw;
  if (name == "qcow2") return ImageFormat::kQcow2;
  return std::nullopt;
}

std::string_view NameOf(ImageFormat format) {
  switch (format) {
    case ImageFormat::kRaw:
      return "raw";
    case ImageFormat::kQcow2:
      return "qcow2";
  }
  return "unknown";
}

Result<ImageFormat> GuessFormat(File& file) {
  std::array<std::byte, kQcowMagic.size()> start{};
  TRY(ReadBytes(file, FileOffset(0), start));
  const bool qcow = std::memcmp(start.data(), kQcowMagic.data(), start.size()) == 0;
  return qcow ? ImageFormat::kQcow2 : ImageFormat::kRaw;
}

}  // namespace skiff
