#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "arch/loader/boot_file.h"
#include "base/result.h"

namespace skiff {

// What a file given as a kernel really is, by its content; its name tells nothing.
enum class FileKind : uint8_t {
  kBzImage,     // Linux x86: setup header "HdrS"
  kElf,         // of any class and CPU
  kArm64Image,  // Linux arm64
  kRiscvImage,  // Linux riscv
  kGzip,
  kXz,
  kLzma,
  kZstd,
  kBzip2,
  kLz4,
  kLzop,
  kCpio,   // an initrd, uncompressed
  kQcow2,  // a disk
  kEfi,    // a program for UEFI
  kText,
  kUnknown,
};

// Enough of a file's start for Identify().
inline constexpr size_t kIdentifyBytes = 1024;

FileKind Identify(std::span<const std::byte> prefix);

// Reads the file's start.
Result<FileKind> IdentifyFile(const BootFile& file);

// "kernel x: is a gzip-compressed file, not a kernel: decompress it first". For every kind that
// the CPU at hand cannot boot; `expected` names those it can.
Error NotAKernel(const BootFile& file, FileKind kind, const char* expected);

}  // namespace skiff
