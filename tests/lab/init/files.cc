#include "tests/lab/init/files.h"

#include <fcntl.h>
#include <unistd.h>

#include <array>

#include "base/unique_fd.h"

namespace skiff::lab {

Result<std::string> ReadFile(const std::string& path) {
  const UniqueFd file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file.valid()) return Error::FromErrno("opening " + path);
  std::string content;
  std::array<char, 16384> piece;
  for (;;) {
    const ssize_t got = read(file.get(), piece.data(), piece.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return Error::FromErrno("reading " + path);
    if (got == 0) return content;
    content.append(piece.data(), static_cast<size_t>(got));
  }
}

Result<void> WriteAll(int fd, std::string_view text) {
  while (!text.empty()) {
    const ssize_t put = write(fd, text.data(), text.size());
    if (put < 0 && errno == EINTR) continue;
    if (put < 0) return Error::FromErrno("write");
    text.remove_prefix(static_cast<size_t>(put));
  }
  return {};
}

std::vector<std::string> SplitAt(char separator, std::string_view text) {
  std::vector<std::string> pieces;
  while (!text.empty()) {
    const size_t length = text.find(separator);
    pieces.emplace_back(text.substr(0, length));
    if (length == std::string_view::npos) break;
    text.remove_prefix(length + 1);
  }
  return pieces;
}

}  // namespace skiff::lab
