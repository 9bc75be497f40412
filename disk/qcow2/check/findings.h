#pragma once

#include <cstdint>
#include <functional>
#include <string>

namespace skiff::qcow2 {

// What a check may change. qemu-img check -r
enum class Repair : uint8_t {
  kNothing,
  kLeaks,  // only what nothing refers to
  kAll,    // all that can be put right; what is damaged for good may read as zeroes afterwards
};

// The result of a check, in the terms of `qemu-img check --output=json`.
struct CheckReport {
  uint64_t corruptions = 0;    // errors; they are dangerous
  uint64_t missing_flags = 0;  // of the corruptions, COPIED flags that are off; they are harmless
  uint64_t leaks = 0;          // clusters that are counted more often than used; harmless
  uint64_t check_errors = 0;   // parts of the metadata that could not be looked at
  uint64_t corruptions_fixed = 0;
  uint64_t leaks_fixed = 0;
  uint64_t image_end_offset = 0;     // bytes; the end of the last cluster in use
  uint64_t total_clusters = 0;       // of the disk
  uint64_t allocated_clusters = 0;   // of the disk
  uint64_t fragmented_clusters = 0;  // that do not follow the one before
  uint64_t compressed_clusters = 0;
};

// Takes one line for the user, without its end. The lines are qemu-img's: people filter them.
using SayLine = std::function<void(const std::string& line)>;

// Where all parts of a check put what they find.
struct Findings {
  CheckReport report;
  SayLine say;
  // Counts can't be put right one by one: the refcount structure must be made anew.
  bool must_rebuild = false;

  void Corrupt(const std::string& line, uint64_t times = 1) {
    report.corruptions += times;
    say(line);
  }
};

}  // namespace skiff::qcow2
