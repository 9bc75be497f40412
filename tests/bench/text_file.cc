#include "tests/bench/text_file.h"

#include <dirent.h>
#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <memory>

#include "base/unique_fd.h"

namespace skiff::bench {

Result<std::string> ReadTextFile(const std::string& path) {
  const UniqueFd file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file.valid()) return Error::FromErrno("opening " + path);
  std::string text;
  std::array<char, 65536> buffer;
  while (true) {
    const ssize_t got = read(file.get(), buffer.data(), buffer.size());
    if (got < 0) return Error::FromErrno("reading " + path);
    if (got == 0) return text;
    text.append(buffer.data(), static_cast<size_t>(got));
  }
}

std::vector<std::string> NamesIn(const std::string& directory) {
  std::vector<std::string> names;
  const std::unique_ptr<DIR, int (*)(DIR*)> entries(opendir(directory.c_str()), closedir);
  while (entries) {
    const dirent* const entry = readdir(entries.get());
    if (!entry) break;
    const std::string name = entry->d_name;
    if (name != "." && name != "..") names.push_back(name);
  }
  return names;
}

}  // namespace skiff::bench
