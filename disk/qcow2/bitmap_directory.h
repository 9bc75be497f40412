#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "disk/qcow2/header.h"

namespace skiff::qcow2 {

// Where a persistent bitmap's bits are. qcow2, "Bitmaps extension".
struct BitmapTable {
  FileOffset offset;
  uint32_t entries = 0;
  uint32_t flags = 0;
  uint8_t granularity_bits = 0;
  std::string name;
};

struct BitmapDirectory {
  FileOffset offset;
  uint64_t bytes = 0;
  std::vector<BitmapTable> bitmaps;
};

// Reads the directory of the image's persistent bitmaps; an empty one if it has none. kCorrupt in
// words where the extension or the directory makes no sense; nothing in it is trusted.
Result<BitmapDirectory> ReadBitmapDirectory(File& file, const Header& header);

}  // namespace skiff::qcow2
