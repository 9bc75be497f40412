#include "base/log.h"

#include <unistd.h>

#include <string>

namespace skiff {
namespace {

std::atomic<LogLevel> threshold{LogLevel::kWarning};

std::string_view Prefix(LogLevel level) {
  switch (level) {
    case LogLevel::kError:
      return "skiff: ";
    case LogLevel::kWarning:
      return "skiff: warning: ";
    case LogLevel::kInfo:
      return "skiff: info: ";
    case LogLevel::kDebug:
      return "skiff: debug: ";
  }
  return "skiff: ";
}

}  // namespace

void SetLogLevel(LogLevel level) { threshold.store(level, std::memory_order_relaxed); }

std::optional<LogLevel> ParseLogLevel(std::string_view name) {
  if (name == "error") return LogLevel::kError;
  if (name == "warning") return LogLevel::kWarning;
  if (name == "info") return LogLevel::kInfo;
  if (name == "debug") return LogLevel::kDebug;
  return std::nullopt;
}

void Log(LogLevel level, std::string_view message) {
  if (level > threshold.load(std::memory_order_relaxed)) return;
  std::string line(Prefix(level));
  line.append(message).push_back('\n');
  // A log that cannot be written has nowhere to report that.
  [[maybe_unused]] const ssize_t written = write(STDERR_FILENO, line.data(), line.size());
}

void LimitedLog::Warning(std::string_view message) {
  const uint32_t earlier = count_.load(std::memory_order_relaxed);
  if (earlier >= kBurst) return;
  const uint32_t mine = count_.fetch_add(1, std::memory_order_relaxed);
  if (mine + 1 < kBurst) {
    LogWarning(message);
  } else if (mine + 1 == kBurst) {
    LogWarning(std::string(message) + " (further messages of this kind are left out)");
  }
}

}  // namespace skiff
