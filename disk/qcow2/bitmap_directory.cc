#include "disk/qcow2/bitmap_directory.h"

#include <cstring>

#include "base/arith.h"

namespace skiff::qcow2 {
namespace {

constexpr size_t kAlignment = 8;  // of entries in the directory

template <typename T>
T Load(std::span<const std::byte> bytes) {
  T value;
  std::memcpy(static_cast<void*>(&value), bytes.data(), sizeof(value));
  return value;
}

Result<BitmapsExtension> ParseExtension(const Header& header, const Extension& extension) {
  if (extension.data.size() != sizeof(BitmapsExtension))
    return Corrupt("the bitmaps extension has a wrong length");
  const auto parsed = Load<BitmapsExtension>(extension.data);
  if (parsed.nb_bitmaps == 0 || parsed.nb_bitmaps > kMaxBitmaps)
    return Corrupt("the bitmaps extension has a wrong number of bitmaps");
  if (!header.geometry.IsAligned(FileOffset(parsed.bitmap_directory_offset)))
    return Corrupt("the bitmap directory's offset is not a cluster's");
  if (parsed.bitmap_directory_size > kMaxBitmapDirectoryBytes)
    return Corrupt("the bitmap directory is too large");
  return parsed;
}

// The first entry of `bytes`, which is shortened by it.
Result<BitmapTable> TakeEntry(std::span<const std::byte>& bytes) {
  if (bytes.size() < sizeof(BitmapDirectoryEntry))
    return Corrupt("the bitmap directory is too small");
  const auto fixed = Load<BitmapDirectoryEntry>(bytes);
  const uint64_t name_at = sizeof(fixed) + uint64_t{fixed.extra_data_size};
  const uint64_t length = AlignUp(name_at + fixed.name_size, kAlignment);
  if (length > bytes.size()) return Corrupt("the bitmap directory is too small");
  if (fixed.bitmap_table_size > kMaxBitmapTableEntries)
    return Corrupt("a bitmap table is too large");
  BitmapTable table;
  table.offset = FileOffset(fixed.bitmap_table_offset);
  table.entries = fixed.bitmap_table_size;
  table.flags = fixed.flags;
  table.granularity_bits = static_cast<uint8_t>(fixed.granularity_bits);
  table.name.assign(reinterpret_cast<const char*>(bytes.data()) + name_at, fixed.name_size);
  bytes = bytes.subspan(length);
  return table;
}

}  // namespace

Result<BitmapDirectory> ReadBitmapDirectory(File& file, const Header& header) {
  BitmapDirectory directory;
  const Extension* const extension = header.Find(kExtensionBitmaps);
  // Without the bit, whoever wrote the image did not know of bitmaps: the extension is out of date.
  if (extension == nullptr || (header.autoclear_features & kAutoclearBitmaps) == 0)
    return directory;
  const BitmapsExtension parsed = TRY(ParseExtension(header, *extension));
  directory.offset = FileOffset(parsed.bitmap_directory_offset);
  directory.bytes = parsed.bitmap_directory_size;
  if (directory.bytes > file.size() || directory.offset.value() > file.size() - directory.bytes)
    return Corrupt("the bitmap directory goes past the end of the file");
  std::vector<std::byte> bytes(directory.bytes);
  TRY(ReadBytes(file, directory.offset, bytes));
  std::span<const std::byte> rest(bytes);
  for (uint32_t n = 0; n < parsed.nb_bitmaps; ++n)
    directory.bitmaps.push_back(TRY(TakeEntry(rest)));
  return directory;
}

}  // namespace skiff::qcow2
