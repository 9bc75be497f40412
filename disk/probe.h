#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "base/result.h"
#include "disk/file.h"

namespace skiff {

enum class ImageFormat : uint8_t { kRaw, kQcow2 };

std::optional<ImageFormat> ParseImageFormat(std::string_view name);  // raw, qcow2
std::string_view NameOf(ImageFormat format);

// What the content looks like; anything unknown is raw. A guest writes the content of its raw
// disk, so never open a disk by this answer: a made-up qcow2 header names host files.
Result<ImageFormat> GuessFormat(File& file);

}  // namespace skiff
