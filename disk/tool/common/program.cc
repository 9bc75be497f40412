#include "disk/tool/common/program.h"

#include <cstdio>
#include <cstring>

namespace skiff::tool {
namespace {

std::string& Name() {
  static std::string name = "skiff-img";
  return name;
}

}  // namespace

void SetProgramName(const char* argv0) {
  if (argv0 == nullptr || *argv0 == '\0') return;
  const char* const slash = std::strrchr(argv0, '/');
  Name() = slash == nullptr ? argv0 : slash + 1;
}

const std::string& ProgramName() { return Name(); }

void PrintError(std::string_view message) {
  std::fflush(stdout);
  std::fprintf(stderr, "%s: %.*s\n", Name().c_str(), static_cast<int>(message.size()),
               message.data());
}

int Fail(std::string_view message) {
  PrintError(message);
  return 1;
}

int FailUsage(std::string_view message) {
  PrintError(message);
  std::fprintf(stderr, "Try '%s --help' for more information\n", Name().c_str());
  return 1;
}

bool FlushOutput() { return std::fflush(stdout) == 0 && std::ferror(stdout) == 0; }

std::string Words(const Error& error) {
  return error.os_error() != 0 ? std::strerror(error.os_error()) : error.message();
}

}  // namespace skiff::tool
