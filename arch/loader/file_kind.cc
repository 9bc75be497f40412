#include "arch/loader/file_kind.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <string_view>

namespace skiff {

namespace {

using namespace std::string_view_literals;

struct Magic {
  FileKind kind;
  size_t offset;
  std::string_view bytes;
};

// In the order of trial. bzImage and the Images may also begin as an EFI program, so "MZ" is last.
constexpr Magic kMagics[] = {
    {FileKind::kBzImage, 0x202, "HdrS"sv},
    {FileKind::kElf, 0,
     "\x7f"
     "ELF"sv},
    {FileKind::kArm64Image, 0x38, "ARM\x64"sv},
    {FileKind::kRiscvImage, 0x38, "RSC\x05"sv},
    {FileKind::kGzip, 0, "\x1f\x8b"sv},
    {FileKind::kXz, 0,
     "\xfd"
     "7zXZ\0"sv},
    {FileKind::kLzma, 0, "\x5d\0\0"sv},
    {FileKind::kZstd, 0, "\x28\xb5\x2f\xfd"sv},
    {FileKind::kBzip2, 0, "BZh"sv},
    {FileKind::kLz4, 0, "\x04\x22\x4d\x18"sv},
    {FileKind::kLz4, 0, "\x02\x21\x4c\x18"sv},
    {FileKind::kLzop, 0, "\x89LZO"sv},
    {FileKind::kCpio, 0, "070701"sv},
    {FileKind::kCpio, 0, "070702"sv},
    {FileKind::kQcow2, 0, "QFI\xfb"sv},
    {FileKind::kEfi, 0, "MZ"sv},
};

bool IsTextByte(std::byte byte) {
  const auto c = std::to_integer<unsigned char>(byte);
  return c >= 0x20 ? c != 0x7f : (c >= '\t' && c <= '\r') || c == 0x1b;
}

struct Description {
  const char* what;
  const char* advice;
};

Description Describe(FileKind kind) {
  constexpr const char* kDecompress = "decompress it first";
  constexpr const char* kOtherCpu = "its kernels run on another CPU";
  constexpr const char* kWrongFile = "give a Linux kernel";
  switch (kind) {
    case FileKind::kBzImage:
      return {"a bzImage", kOtherCpu};
    case FileKind::kElf:
      return {"an ELF file", kWrongFile};
    case FileKind::kArm64Image:
      return {"an arm64 Linux Image", kOtherCpu};
    case FileKind::kRiscvImage:
      return {"a riscv Linux Image", kOtherCpu};
    case FileKind::kGzip:
      return {"a gzip-compressed file", kDecompress};
    case FileKind::kXz:
      return {"an xz-compressed file", kDecompress};
    case FileKind::kLzma:
      return {"an lzma-compressed file", kDecompress};
    case FileKind::kZstd:
      return {"a zstd-compressed file", kDecompress};
    case FileKind::kBzip2:
      return {"a bzip2-compressed file", kDecompress};
    case FileKind::kLz4:
      return {"an lz4-compressed file", kDecompress};
    case FileKind::kLzop:
      return {"an lzop-compressed file", kDecompress};
    case FileKind::kCpio:
      return {"a cpio archive", "give it as the initrd"};
    case FileKind::kQcow2:
      return {"a qcow2 disk image", "give it as a disk"};
    case FileKind::kEfi:
      return {"a program for UEFI", kWrongFile};
    case FileKind::kText:
      return {"a text file", kWrongFile};
    case FileKind::kUnknown:
      break;
  }
  return {"of no kind that is known here", kWrongFile};
}

}  // namespace

FileKind Identify(std::span<const std::byte> prefix) {
  for (const Magic& magic : kMagics) {
    if (prefix.size() < magic.offset + magic.bytes.size()) continue;
    const void* there = prefix.data() + magic.offset;
    if (std::memcmp(there, magic.bytes.data(), magic.bytes.size()) == 0) return magic.kind;
  }
  return std::all_of(prefix.begin(), prefix.end(), IsTextByte) ? FileKind::kText
                                                               : FileKind::kUnknown;
}

Result<FileKind> IdentifyFile(const BootFile& file) {
  std::array<std::byte, kIdentifyBytes> bytes{};
  const size_t count = TRY(file.ReadPrefix(bytes));
  return Identify(std::span(bytes).first(count));
}

Error NotAKernel(const BootFile& file, FileKind kind, const char* expected) {
  const Description description = Describe(kind);
  const char* is_not =
      kind == FileKind::kBzImage || kind == FileKind::kArm64Image || kind == FileKind::kRiscvImage
          ? "not a kernel for this machine"
          : "not a kernel";
  return Unsupported(fmt::format("{}: is {}, {}: {} ({})", file.label(), description.what, is_not,
                                 description.advice, expected));
}

}  // namespace skiff
