#include "tests/lab/init/kernel_log.h"

#include <fcntl.h>

#include <string>

#include "base/unique_fd.h"
#include "tests/lab/init/files.h"

namespace skiff::lab {
namespace {

// `level` as in the kernel's Documentation/ABI/testing/dev-kmsg: 3 is an error, 6 information.
void Write(std::string_view level, std::string_view message) {
  const UniqueFd log(open("/dev/kmsg", O_WRONLY | O_CLOEXEC));
  // Nobody is left to hear that the log itself fails.
  (void)WriteAll(log.get(), std::string(level) + "lab: " + std::string(message) + "\n");
}

}  // namespace

void LogStep(std::string_view message) { Write("<6>", message); }
void LogFailure(std::string_view message) { Write("<3>", message); }

}  // namespace skiff::lab
