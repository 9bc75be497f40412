#include "tests/lab/init/modules.h"

#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/unique_fd.h"
#include "tests/lab/init/files.h"
#include "tests/lab/init/kernel_log.h"

namespace skiff::lab {
namespace {

Result<void> LoadModule(const std::string& path) {
  const UniqueFd file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file.valid()) return Error::FromErrno("opening " + path);
  // glibc has no finit_module(). The module's parameters come from the kernel's command line.
  if (syscall(SYS_finit_module, file.get(), "", 0) == 0 || errno == EEXIST) return {};
  if (errno != ENODEV) return Error::FromErrno("loading " + path);
  LogStep("no hardware for " + path);
  return {};
}

}  // namespace

Result<void> LoadModules(const std::string& order_file) {
  const std::string order = TRY(ReadFile(order_file));
  for (const std::string& path : SplitAt('\n', order)) TRY(LoadModule(path));
  return {};
}

}  // namespace skiff::lab
