#include "tests/lab/init/job.h"

#include <unistd.h>

#include <charconv>

#include "tests/lab/init/files.h"

namespace skiff::lab {
namespace {

Result<std::string> ReadOptional(const std::string& path) {
  if (access(path.c_str(), F_OK) != 0) return std::string();
  return ReadFile(path);
}

Result<unsigned> ParseSeconds(const std::string& text) {
  unsigned seconds = 0;
  const char* end = text.data() + text.size();
  const auto parsed = std::from_chars(text.data(), end, seconds);
  if (parsed.ec != std::errc() || parsed.ptr != end) {
    return Invalid("the job's time limit is no number: '" + text + "'");
  }
  return seconds;
}

}  // namespace

Result<Job> ReadJob(const std::string& directory) {
  Job job;
  const auto arguments = TRY(ReadFile(directory + "/arguments"));
  job.arguments = SplitAt('\0', arguments);
  if (job.arguments.empty()) return Invalid("the job has no command");
  const auto environment = TRY(ReadOptional(directory + "/environment"));
  job.environment = SplitAt('\0', environment);
  job.directory = TRY(ReadOptional(directory + "/directory"));
  const auto time_limit = TRY(ReadFile(directory + "/time_limit"));
  job.time_limit_seconds = TRY(ParseSeconds(time_limit));
  job.out = TRY(ReadOptional(directory + "/out"));
  job.modules = TRY(ReadOptional(directory + "/modules"));
  return job;
}

}  // namespace skiff::lab
