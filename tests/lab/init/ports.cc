#include "tests/lab/init/ports.h"

#include <dirent.h>
#include <fcntl.h>
#include <unistd.h>

#include <string>

#include "tests/lab/init/files.h"

namespace skiff::lab {
namespace {

constexpr char kPorts[] = "/sys/class/virtio-ports";

// The device file's name of the port, "" while there is none.
std::string FindPort(std::string_view name) {
  DIR* ports = opendir(kPorts);
  if (ports == nullptr) return "";
  std::string found;
  while (const dirent* entry = readdir(ports)) {
    const auto its_name = ReadFile(std::string(kPorts) + "/" + entry->d_name + "/name");
    if (its_name.ok() && *its_name == std::string(name) + "\n") found = entry->d_name;
  }
  closedir(ports);
  return found;
}

}  // namespace

Result<UniqueFd> OpenPort(std::string_view name) {
  constexpr int kTries = 1000;
  constexpr useconds_t kPause = 5000;
  for (int i = 0; i < kTries; ++i) {
    const std::string device = FindPort(name);
    if (!device.empty()) {
      UniqueFd port(open(("/dev/" + device).c_str(), O_WRONLY | O_CLOEXEC));
      // The port is listed a moment before its device file exists and its other end is open.
      if (port.valid()) return port;
    }
    usleep(kPause);
  }
  return Invalid("the machine has no port " + std::string(name));
}

}  // namespace skiff::lab
