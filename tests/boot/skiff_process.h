#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <vector>

namespace skiff::boot {

struct Finished {
  int status = -1;  // exit status; 128+n if signal n ended it; -1 if it had to be killed
  std::string out;
  std::string err;
  std::chrono::duration<double> took{};
};

// How to run a program; the defaults suit a guest that ends by itself.
struct Launch {
  std::vector<std::string> arguments;  // the first is the program
  std::chrono::seconds limit{300};     // then it is killed and the test fails
  bool read_stdout = true;             // false: a pipe that nobody reads
  unsigned user_id = 0;                // run as this user
  // Called with all of stdout so far whenever more arrives, and with the process id.
  std::function<void(const std::string& out, int pid)> on_output;
};

// Runs it to its end with stdin from /dev/null and reports a process that had to be killed as a
// test failure.
Finished RunToEnd(const Launch& launch);

}  // namespace skiff::boot
