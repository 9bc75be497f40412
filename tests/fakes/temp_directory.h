#pragma once

#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

namespace skiff::fakes {

// A fresh directory below `parent` (the test's own place at first), removed with all it contains.
class TempDirectory {
 public:
  TempDirectory() : TempDirectory(TestPlace()) {}
  explicit TempDirectory(const std::string& parent) : path_(parent + "/skiff-XXXXXX") {
    if (mkdtemp(path_.data()) == nullptr) std::abort();
  }
  ~TempDirectory() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TempDirectory(const TempDirectory&) = delete;
  TempDirectory& operator=(const TempDirectory&) = delete;

  std::string operator/(const std::string& name) const { return path_ + "/" + name; }

  // A file that consists of `size` zero bytes, as a hole.
  std::string MakeFile(const std::string& name, uint64_t size) const {
    const std::string path = *this / name;
    std::ofstream(path).flush();
    std::filesystem::resize_file(path, size);
    return path;
  }

 private:
  static std::string TestPlace() {
    const char* const place = std::getenv("TEST_TMPDIR");
    return place != nullptr ? place : "/tmp";
  }
  std::string path_;
};

}  // namespace skiff::fakes
