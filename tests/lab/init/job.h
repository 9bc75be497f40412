#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/result.h"

namespace skiff::lab {

// What to run: everything a process needs that is not inherited.
struct Job {
  std::vector<std::string> arguments;    // the command first; looked up in $PATH
  std::vector<std::string> environment;  // "NAME=value"
  std::string directory;                 // to start in
  unsigned time_limit_seconds = 0;       // 0: none
  std::string out;      // host directory to mount read-write at the same path; "" for none
  std::string modules;  // host directory with the kernel's modules, for modprobe; "" for none
};

// Reads the job as tests/lab/run wrote it: one file per field in `directory`, `arguments` and
// `environment` with a NUL after each string. Missing files leave their field empty, except
// `arguments`, which must hold at least one.
Result<Job> ReadJob(const std::string& directory);

}  // namespace skiff::lab
