#include "arch/loader/elf.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "arch/loader/elf_format.h"
#include "base/arith.h"

namespace skiff {

namespace {

// Linux has fewer than ten of either.
constexpr size_t kMaxProgramHeaders = 128;
constexpr uint64_t kMaxNoteBytes = 1 * kMiB;

Error Broken(const BootFile& file, std::string_view why) {
  return Corrupt(fmt::format("{}: broken ELF file: {}", file.label(), why));
}

Error Foreign(const BootFile& file, std::string_view what) {
  return Unsupported(fmt::format("{}: is {}, not a 64-bit kernel", file.label(), what));
}

Result<elf::FileHeader> ReadHeader(const BootFile& file) {
  elf::FileHeader header{};
  TRY(file.ReadAt(0, std::as_writable_bytes(std::span(&header, 1))));
  if (!std::equal(elf::kMagic.begin(), elf::kMagic.end(), header.e_ident.begin())) {
    return Foreign(file, "no ELF file");
  }
  if (header.e_ident[elf::kClassIndex] != elf::kClass64) return Foreign(file, "a 32-bit ELF file");
  if (header.e_ident[elf::kDataIndex] != elf::kDataLittle) {
    return Foreign(file, "a big-endian ELF file");
  }
  if (header.e_type != elf::kTypeExecutable && header.e_type != elf::kTypeShared) {
    return Foreign(file, "an ELF object, module or core file");
  }
  return header;
}

Result<std::vector<elf::ProgramHeader>> ReadProgramHeaders(const BootFile& file,
                                                           const elf::FileHeader& header) {
  if (header.e_phentsize != sizeof(elf::ProgramHeader)) {
    return Broken(file, "program headers of a wrong size");
  }
  if (header.e_phnum > kMaxProgramHeaders) {
    return Broken(file, fmt::format("{} program headers", uint16_t{header.e_phnum}));
  }
  std::vector<elf::ProgramHeader> headers(header.e_phnum);
  TRY(file.ReadAt(header.e_phoff, std::as_writable_bytes(std::span(headers))));
  return headers;
}

Result<void> CheckInsideFile(const BootFile& file, const elf::ProgramHeader& header) {
  const std::optional<uint64_t> end = CheckedAdd(header.p_offset, header.p_filesz);
  if (end && *end <= file.size()) return {};
  return Corrupt(fmt::format(
      "{}: a segment of {} bytes at {} reaches past the file's {} bytes: it is truncated",
      file.label(), uint64_t{header.p_filesz}, uint64_t{header.p_offset}, file.size()));
}

Result<ElfSegment> MakeSegment(const BootFile& file, const elf::ProgramHeader& header) {
  if (header.p_filesz > header.p_memsz) return Broken(file, "a segment larger than its memory");
  auto memory = GuestRange::Make(GuestAddr(header.p_paddr), header.p_memsz);
  if (!memory.ok()) return Broken(file, "a segment wraps around the address space");
  return ElfSegment{*memory, header.p_offset, header.p_filesz};
}

// One note and where the next begins, both relative to the note segment.
struct Note {
  std::span<const std::byte> name;
  std::span<const std::byte> description;
  uint32_t type;
  size_t next;
};

// nullopt at the end of the notes, and where they make no sense.
std::optional<Note> NoteAt(std::span<const std::byte> notes, size_t offset) {
  elf::NoteHeader header{};
  if (offset > notes.size() || notes.size() - offset < sizeof header) return std::nullopt;
  std::memcpy(&header, notes.data() + offset, sizeof header);
  // 32-bit lengths, so 64-bit sums cannot wrap. Names and descriptions are padded to 4 bytes.
  const uint64_t name_at = offset + sizeof header;
  const uint64_t description_at = name_at + AlignUp<uint64_t>(header.n_namesz, 4);
  const uint64_t end = description_at + header.n_descsz;
  if (end > notes.size()) return std::nullopt;
  return Note{notes.subspan(name_at, header.n_namesz),
              notes.subspan(description_at, header.n_descsz), header.n_type,
              static_cast<size_t>(AlignUp<uint64_t>(end, 4))};
}

bool HasName(const Note& note, std::string_view name) {
  return note.name.size() == name.size() + 1 &&
         std::memcmp(note.name.data(), name.data(), name.size()) == 0 &&
         note.name.back() == std::byte{0};
}

std::optional<uint64_t> AsInteger(std::span<const std::byte> bytes) {
  if (bytes.size() == sizeof(Le32)) {
    Le32 value;
    std::memcpy(&value, bytes.data(), sizeof value);
    return value;
  }
  if (bytes.size() == sizeof(Le64)) {
    Le64 value;
    std::memcpy(&value, bytes.data(), sizeof value);
    return value;
  }
  return std::nullopt;
}

}  // namespace

GuestRange ElfImage::footprint() const {
  GuestAddr start = segments.front().memory.start();
  GuestAddr end = segments.front().memory.end();
  for (const ElfSegment& segment : segments) {
    start = std::min(start, segment.memory.start());
    end = std::max(end, segment.memory.end());
  }
  return GuestRange::Make(start, end.value() - start.value()).value();
}

Result<ElfImage> ParseElf(const BootFile& file) {
  const elf::FileHeader header = TRY(ReadHeader(file));
  const auto program_headers = TRY(ReadProgramHeaders(file, header));
  ElfImage image{header.e_machine, GuestAddr(header.e_entry), {}, {}};
  for (const elf::ProgramHeader& each : program_headers) {
    if (each.p_type == elf::kSegmentLoad && each.p_memsz != 0) {
      TRY(CheckInsideFile(file, each));
      image.segments.push_back(TRY(MakeSegment(file, each)));
    } else if (each.p_type == elf::kSegmentNote) {
      TRY(CheckInsideFile(file, each));
      if (each.p_filesz > kMaxNoteBytes) return Broken(file, "a note segment of absurd size");
      image.notes.push_back(TRY(FileRange::Make(FileOffset(each.p_offset), each.p_filesz)));
    }
  }
  if (image.segments.empty()) return Broken(file, "nothing to load");
  return image;
}

Result<std::optional<uint64_t>> FindElfNote(const BootFile& file, const ElfImage& image,
                                            std::string_view name, uint32_t type) {
  std::vector<std::byte> bytes;
  for (const FileRange& range : image.notes) {
    bytes.resize(range.length());
    TRY(file.ReadAt(range.start().value(), bytes));
    for (auto note = NoteAt(bytes, 0); note; note = NoteAt(bytes, note->next)) {
      if (note->type == type && HasName(*note, name)) return AsInteger(note->description);
    }
  }
  return std::optional<uint64_t>();
}

Result<void> LoadElfSegments(const GuestMemory& memory, const BootFile& file,
                             const ElfImage& image) {
  for (const ElfSegment& segment : image.segments) {
    const GuestSpan span = TRY(memory.At(segment.memory.Prefix(segment.file_bytes)));
    TRY(file.ReadInto(segment.file_offset, span));
  }
  return {};
}

}  // namespace skiff
