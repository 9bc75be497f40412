#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <string_view>

namespace skiff {

enum class LogLevel : uint8_t { kError, kWarning, kInfo, kDebug };

// Lines go to stderr as "skiff: MESSAGE" ("skiff: warning: …" and so on below errors), each in
// one write(2), so that lines of several threads do not mix. Thread-safe.
void SetLogLevel(LogLevel level);
std::optional<LogLevel> ParseLogLevel(std::string_view name);  // error, warning, info, debug

void Log(LogLevel level, std::string_view message);
inline void LogError(std::string_view message) { Log(LogLevel::kError, message); }
inline void LogWarning(std::string_view message) { Log(LogLevel::kWarning, message); }
inline void LogInfo(std::string_view message) { Log(LogLevel::kInfo, message); }
inline void LogDebug(std::string_view message) { Log(LogLevel::kDebug, message); }

// For messages that a guest can cause: at most `kBurst` lines per instance, the last of which
// says that the rest is left out. One static instance per place. Thread-safe.
class LimitedLog {
 public:
  void Warning(std::string_view message);

 private:
  static constexpr uint32_t kBurst = 10;
  std::atomic<uint32_t> count_{0};
};

}  // namespace skiff
