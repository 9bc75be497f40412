#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "tests/bench/guest_run.h"

namespace skiff::bench {

// One round of one monitor.
struct Sample {
  GuestRun run;
  std::chrono::nanoseconds cpu_to_first_run{0};
};

struct Measured {
  std::string name;
  std::vector<Sample> samples;  // one a round, at least one
};

// The middle value, or the mean of the two in the middle. `values` is not empty.
double Median(std::vector<double> values);

// Medians of all that was measured, beside each other; then skiff's aims and whether they are
// met. `all` begins with skiff and has at least one peer.
std::string Table(const std::vector<Measured>& all);

// Every sample, for other programs: {"kernel_line": …, "monitors": {NAME: {QUANTITY: [n, …]}}}.
std::string Json(const std::vector<Measured>& all);

}  // namespace skiff::bench
