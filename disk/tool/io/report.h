#pragma once

#include <chrono>
#include <cstdint>
#include <span>
#include <string>

#include "base/result.h"

namespace skiff::io {

using Clock = std::chrono::steady_clock;

enum class ReportStyle : uint8_t {
  kHuman,
  kMachine,  // -C
  kNone,     // -q
};

// A command's transfer that succeeded.
struct Report {
  const char* verb;  // "wrote", "read", "discard"
  uint64_t offset;
  uint64_t length;
  Clock::time_point start;
  ReportStyle style = ReportStyle::kHuman;
};
void Print(const Report& report);

// Sixteen bytes a line, `offset` before the first.
void Dump(std::span<const std::byte> bytes, uint64_t offset);

void PrintMismatch(uint64_t offset, uint64_t length);

// "Input/output error" and the like: what QEMU would say about this error.
std::string CauseOf(const Error& error);

// "read failed: Input/output error"
Error Failure(const std::string& what, const Error& error);

}  // namespace skiff::io
