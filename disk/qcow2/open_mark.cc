#include "disk/qcow2/open_mark.h"

#include <algorithm>
#include <cstring>

#include "base/arith.h"

namespace skiff::qcow2 {
namespace {

struct Mark {
  ExtensionHeader head;
  Be64 open;
};
static_assert(sizeof(Mark) == 16);

// The mark and the end mark that moves behind it.
constexpr uint64_t kRoom = sizeof(Mark) + sizeof(ExtensionHeader);

Extension* Find(Header& header) {
  const auto found =
      std::find_if(header.extensions.begin(), header.extensions.end(),
                   [](const Extension& one) { return one.type == kExtensionOpenMark; });
  return found == header.extensions.end() ? nullptr : &*found;
}

bool IsZero(std::span<const std::byte> bytes) {
  return std::all_of(bytes.begin(), bytes.end(), [](std::byte b) { return b == std::byte{0}; });
}

template <typename T>
Result<void> Put(File& file, uint64_t at, const T& value) {
  return WriteBytes(file, FileOffset(at), std::as_bytes(std::span(&value, 1)));
}

// Moves the backing file's name away from where the mark goes. The header names the new place only
// when it is durable. False: there is no room.
Result<bool> MoveName(File& file, const Header& header, uint64_t name_at) {
  const uint64_t place = AlignUp(
      std::max(header.extensions_end + kRoom, name_at + header.backing_file.size()), uint64_t{8});
  if (place + header.backing_file.size() > header.geometry.cluster_size()) return false;
  TRY(WriteBytes(file, FileOffset(place), std::as_bytes(std::span(header.backing_file))));
  TRY(file.Sync());
  TRY(Put(file, offsetof(HeaderV2, backing_file_offset), Be64(place)));
  TRY(file.Sync());
  return true;
}

// All that comes behind the end mark is dead, and zeroes when this is done.
Result<bool> MakeRoom(File& file, const Header& header) {
  const uint64_t end = header.extensions_end;
  if (end + kRoom > header.geometry.cluster_size()) return false;
  Be64 name_at;
  TRY(ReadBytes(file, FileOffset(offsetof(HeaderV2, backing_file_offset)),
                std::as_writable_bytes(std::span(&name_at, 1))));
  if (name_at != 0 && name_at < end + kRoom && !TRY(MoveName(file, header, name_at))) return false;
  std::vector<std::byte> room(kRoom);
  TRY(ReadBytes(file, FileOffset(end), room));
  if (IsZero(room)) return true;
  if (!IsZero(std::span(room).first(sizeof(ExtensionHeader)))) return false;
  std::fill(room.begin(), room.end(), std::byte{0});
  TRY(WriteBytes(file, FileOffset(end), room));
  TRY(file.Sync());
  return true;
}

}  // namespace

bool HasOpenMark(const Header& header) {
  const Extension* const mark = header.Find(kExtensionOpenMark);
  return mark != nullptr && mark->data.size() == sizeof(Be64) && !IsZero(mark->data);
}

Result<bool> SetOpenMark(File& file, Header& header) {
  if (HasOpenMark(header)) return true;
  if (Find(header) != nullptr) return false;  // one that somebody put between others
  if (!TRY(MakeRoom(file, header))) return false;
  const Mark mark{{kExtensionOpenMark, sizeof(Be64)}, 1};
  TRY(Put(file, header.extensions_end, mark));
  header.extensions_end += sizeof(mark);
  const auto data = std::as_bytes(std::span(&mark.open, 1));
  header.extensions.push_back({kExtensionOpenMark, {data.begin(), data.end()}});
  return true;
}

Result<void> ClearOpenMark(File& file, Header& header) {
  const Extension* const mark = Find(header);
  if (mark == nullptr || mark != &header.extensions.back()) return {};
  const uint64_t at = header.extensions_end - sizeof(Mark);
  TRY(Put(file, at, Mark{}));
  header.extensions_end = at;
  header.extensions.pop_back();
  return {};
}

}  // namespace skiff::qcow2
