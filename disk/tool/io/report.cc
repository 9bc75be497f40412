#include "disk/tool/io/report.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cerrno>
#include <cinttypes>
#include <cstdio>
#include <cstring>

#include "disk/tool/io/numbers.h"

namespace skiff::io {
namespace {

constexpr size_t kBytesPerLine = 16;

// "00.02 sec"; "0:01:00.02" from a minute on, and always if `fixed`.
std::string FormatTime(Clock::duration time, bool fixed) {
  using std::chrono::duration_cast;
  const auto hundredths = duration_cast<std::chrono::milliseconds>(time).count() / 10;
  const auto seconds = hundredths / 100;
  std::array<char, 64> text;
  if (fixed || seconds >= 60) {
    std::snprintf(text.data(), text.size(), "%" PRId64 ":%02" PRId64 ":%02" PRId64 ".%02" PRId64,
                  int64_t{seconds / 3600}, int64_t{seconds / 60 % 60}, int64_t{seconds % 60},
                  int64_t{hundredths % 100});
  } else {
    std::snprintf(text.data(), text.size(), "%02" PRId64 ".%02" PRId64 " sec", int64_t{seconds},
                  int64_t{hundredths % 100});
  }
  return text.data();
}

int ErrnoOf(ErrorCode code) {
  switch (code) {
    case ErrorCode::kInvalid:
      return EINVAL;
    case ErrorCode::kUnsupported:
      return EOPNOTSUPP;
    case ErrorCode::kReadOnly:
      return EPERM;
    case ErrorCode::kNoSpace:
      return ENOSPC;
    case ErrorCode::kOutOfRange:
    case ErrorCode::kCorrupt:
    case ErrorCode::kIo:
      return EIO;
  }
  return EIO;
}

void DumpLine(std::span<const std::byte> bytes, uint64_t offset) {
  std::string hex;
  std::string text;
  for (const std::byte b : bytes) {
    const auto value = std::to_integer<unsigned char>(b);
    std::array<char, 4> digits;
    std::snprintf(digits.data(), digits.size(), "%02x ", value);
    hex += digits.data();
    text += std::isalnum(value) != 0 ? static_cast<char>(value) : '.';
  }
  std::printf("%08" PRIx64 ":  %s %s\n", offset, hex.c_str(), text.c_str());
}

}  // namespace

void Print(const Report& report) {
  if (report.style == ReportStyle::kNone) return;
  const Clock::duration time = Clock::now() - report.start;
  const double seconds = std::max(std::chrono::duration<double>(time).count(), 1e-9);
  const double rate = static_cast<double>(report.length) / seconds;
  const bool machine = report.style == ReportStyle::kMachine;
  const std::string took = FormatTime(time, /*fixed=*/machine);
  if (machine) {
    std::printf("%" PRIu64 ",1,%s,%.3f,%.3f\n", report.length, took.c_str(), rate, 1 / seconds);
    return;
  }
  std::printf("%s %" PRIu64 "/%" PRIu64 " bytes at offset %" PRIu64 "\n", report.verb,
              report.length, report.length, report.offset);
  std::printf("%s, 1 ops; %s (%s/sec and %.4f ops/sec)\n",
              FormatSize(static_cast<double>(report.length)).c_str(), took.c_str(),
              FormatSize(rate).c_str(), 1 / seconds);
}

void Dump(std::span<const std::byte> bytes, uint64_t offset) {
  while (!bytes.empty()) {
    const size_t length = std::min(kBytesPerLine, bytes.size());
    DumpLine(bytes.first(length), offset);
    bytes = bytes.subspan(length);
    offset += length;
  }
}

void PrintMismatch(uint64_t offset, uint64_t length) {
  std::printf("Pattern verification failed at offset %" PRIu64 ", %" PRIu64 " bytes\n", offset,
              length);
}

std::string CauseOf(const Error& error) {
  return std::strerror(error.os_error() != 0 ? error.os_error() : ErrnoOf(error.code()));
}

Error Failure(const std::string& what, const Error& error) {
  return Error(error.code(), what + " failed: " + CauseOf(error));
}

}  // namespace skiff::io
