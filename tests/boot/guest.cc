#include "tests/boot/guest.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>

namespace skiff::boot {
namespace {

// BOOT_VMLINUZ_6_1_CLOUD_AMD64 and so on.
std::string FromEnvironment(std::string name) {
  std::replace_if(
      name.begin(), name.end(), [](char c) { return c == '-' || c == '.'; }, '_');
  std::transform(name.begin(), name.end(), name.begin(),
                 [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  const char* value = std::getenv(("BOOT_" + name).c_str());
  EXPECT_NE(value, nullptr) << "boot_test.sh did not set BOOT_" << name;
  return value ? value : "/missing";
}

}  // namespace

std::string Skiff() { return FromEnvironment("skiff"); }
std::string Vmlinuz(const std::string& flavour) { return FromEnvironment("vmlinuz-" + flavour); }
std::string Vmlinux(const std::string& flavour) { return FromEnvironment("vmlinux-" + flavour); }
std::string TinyInitrd(const std::string& flavour) { return FromEnvironment("tiny-" + flavour); }
std::string PaddedInitrd(const std::string& megabytes) {
  return FromEnvironment("padded-" + megabytes);
}
std::string DebianDisk(const std::string& kind) { return FromEnvironment("debian-" + kind); }
std::string DebianVmlinuz() { return FromEnvironment("debian-vmlinuz"); }
std::string DebianInitrd() { return FromEnvironment("debian-initrd"); }

std::string SparseFile(const std::string& name, uint64_t size) {
  const std::string path = testing::TempDir() + "/" + name;
  const int fd = open(path.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  EXPECT_EQ(ftruncate(fd, static_cast<off_t>(size)), 0) << path;
  close(fd);
  return path;
}

Finished Boot(Guest guest) {
  std::vector<std::string>& words = guest.launch.arguments;
  words = {Skiff(), "run", "-k", guest.kernel};
  if (!guest.initrd.empty()) words.insert(words.end(), {"-i", guest.initrd});
  std::string append = guest.append;
  if (!guest.script.empty()) append += " -- " + guest.script;
  words.push_back("--append=" + append);
  words.insert(words.end(), guest.options.begin(), guest.options.end());
  return RunToEnd(guest.launch);
}

std::string Line(const Finished& finished, const std::string& name) {
  size_t start = 0;
  while (start < finished.out.size()) {
    const size_t end = std::min(finished.out.find('\n', start), finished.out.size());
    std::string line = finished.out.substr(start, end - start);
    start = end + 1;
    line.erase(std::remove(line.begin(), line.end(), '\r'), line.end());
    if (line.starts_with(name + ":") || line.starts_with(name + "=")) {
      const size_t value = line.find_first_not_of(' ', name.size() + 1);
      return value == std::string::npos ? "" : line.substr(value);
    }
  }
  return "";
}

void ExpectGoodRun(const Finished& finished) {
  EXPECT_EQ(finished.status, 0) << finished.err << finished.out;
  EXPECT_NE(finished.out.find("skiff-tiny: status 0"), std::string::npos)
      << finished.out << finished.err;
  EXPECT_NE(finished.err.find("powered off"), std::string::npos) << finished.err;
}

void ExpectEnd(const Finished& finished, int status, const std::vector<std::string>& words) {
  EXPECT_EQ(finished.status, status) << finished.err << finished.out;
  for (const std::string& word : words)
    EXPECT_NE(finished.err.find(word), std::string::npos) << "stderr lacks \"" << word << "\":\n"
                                                          << finished.err << finished.out;
}

}  // namespace skiff::boot
