#include "vmm/config.h"

#include <dirent.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>
#include <cstring>
#include <memory>

#include "base/arith.h"

namespace skiff {
namespace {

struct Quantity {
  double value;
  std::string_view unit;
};

// A non-negative decimal number and what follows it.
std::optional<Quantity> SplitQuantity(std::string_view text) {
  double value = 0;
  const auto [end, error] =
      std::from_chars(text.data(), text.data() + text.size(), value, std::chars_format::fixed);
  if (error != std::errc{} || text.front() == '-' || !std::isfinite(value)) return std::nullopt;
  return Quantity{value, text.substr(static_cast<size_t>(end - text.data()))};
}

std::string Lower(std::string_view text) {
  std::string lower(text);
  std::transform(lower.begin(), lower.end(), lower.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return lower;
}

std::optional<uint64_t> MemoryUnit(std::string_view text) {
  std::string unit = Lower(text);
  if (unit.size() > 1 && unit.ends_with("ib")) unit.resize(unit.size() - 2);
  if (unit.size() > 1 && unit.ends_with("b")) unit.resize(unit.size() - 1);
  if (unit.empty() || unit == "m") return kMiB;
  if (unit == "b") return 1;
  if (unit == "k") return kKiB;
  if (unit == "g") return kGiB;
  if (unit == "t") return kGiB * 1024;
  return std::nullopt;
}

std::optional<double> MillisecondsPerUnit(std::string_view unit) {
  if (unit == "ms") return 1;
  if (unit.empty() || unit == "s") return 1000;
  if (unit == "m") return 60 * 1000;
  if (unit == "h") return 3600 * 1000;
  return std::nullopt;
}

// Splits at single commas; ",," stands for one comma inside an item.
std::vector<std::string> SplitAtCommas(std::string_view text) {
  std::vector<std::string> items(1);
  for (size_t i = 0; i < text.size(); ++i) {
    const bool doubled = text[i] == ',' && i + 1 < text.size() && text[i + 1] == ',';
    if (text[i] == ',' && !doubled) {
      items.emplace_back();
      continue;
    }
    items.back().push_back(text[i]);
    if (doubled) ++i;
  }
  return items;
}

Result<bool> ParseSwitch(std::string_view key, std::string_view value) {
  if (value == "on" || value == "yes" || value == "true") return true;
  if (value == "off" || value == "no" || value == "false") return false;
  return Invalid(std::string(key) + "=" + std::string(value) + ": say on or off");
}

Result<void> ApplyDiskOption(std::string_view item, DiskConfig& disk) {
  const size_t equals = item.find('=');
  const std::string_view key = item.substr(0, equals);
  const std::string_view value =
      equals == std::string_view::npos ? std::string_view() : item.substr(equals + 1);
  if (item == "ro" || item == "readonly") {
    disk.open.read_only = true;
  } else if (key == "readonly") {
    disk.open.read_only = TRY(ParseSwitch(key, value));
  } else if (key == "format") {
    disk.open.format = ParseImageFormat(value);
    if (!disk.open.format) return Invalid("format=" + std::string(value) + ": say raw or qcow2");
  } else if (key == "cache") {
    const auto cache = ParseCacheMode(value);
    if (!cache)
      return Invalid("cache=" + std::string(value) +
                     ": say writeback, none, writethrough, directsync or unsafe");
    disk.open.cache = *cache;
  } else if (key == "serial") {
    if (value.empty() || value.size() > 20) return Invalid("serial= takes 1 to 20 characters");
    disk.serial = value;
  } else {
    return Invalid("unknown option '" + std::string(item) +
                   "'; there are readonly=on|off, format=raw|qcow2, "
                   "cache=writeback|none|writethrough|directsync|unsafe and serial=ID "
                   "(write a comma that belongs to the path twice)");
  }
  return {};
}

bool Exists(const std::string& path) { return access(path.c_str(), F_OK) == 0; }

bool HasWord(std::string_view line, std::string_view prefix) {
  return line.starts_with(prefix) || line.find(" " + std::string(prefix)) != std::string_view::npos;
}

}  // namespace

Result<uint64_t> ParseMemorySize(std::string_view text) {
  const auto quantity = SplitQuantity(text);
  const auto unit = quantity ? MemoryUnit(quantity->unit) : std::nullopt;
  if (!unit) return Invalid("'" + std::string(text) + "' is no memory size; write 512M or 2G, say");
  const double bytes = quantity->value * static_cast<double>(*unit);
  if (bytes < static_cast<double>(kMiB) || bytes > static_cast<double>(uint64_t{1} << 52))
    return Invalid("memory size '" + std::string(text) + "' is out of range (1M to 4096T)");
  return AlignDown(static_cast<uint64_t>(bytes), kMiB);
}

Result<std::chrono::milliseconds> ParseDuration(std::string_view text) {
  const auto quantity = SplitQuantity(text);
  const auto unit = quantity ? MillisecondsPerUnit(quantity->unit) : std::nullopt;
  if (!unit) return Invalid("'" + std::string(text) + "' is no duration; write 90, 90s or 2m, say");
  const double milliseconds = quantity->value * *unit;
  if (milliseconds < 1 || milliseconds > 1e12)
    return Invalid("duration '" + std::string(text) + "' is out of range");
  return std::chrono::milliseconds(std::llround(milliseconds));
}

Result<DiskConfig> ParseDisk(std::string_view text) {
  const std::vector<std::string> items = SplitAtCommas(text);
  if (items.front().empty()) return Invalid("the path is missing");
  DiskConfig disk;
  disk.open.path = items.front();
  for (size_t i = 1; i < items.size(); ++i) TRY(ApplyDiskOption(items[i], disk));
  return disk;
}

Result<ConsoleConfig> ParseConsole(std::string_view text) {
  ConsoleConfig config;
  if (text == "stdio") {
    config.mode = ConsoleMode::kStdio;
  } else if (text == "off" || text == "none") {
    config.mode = ConsoleMode::kOff;
  } else if (text.starts_with("file:") && text.size() > 5) {
    config.mode = ConsoleMode::kFile;
    config.path = text.substr(5);
  } else {
    return Invalid("'" + std::string(text) + "' is no console; say stdio, off or file:PATH");
  }
  return config;
}

Result<std::string> ParseName(std::string_view text) {
  const auto allowed = [](unsigned char c) {
    return std::isalnum(c) || c == '.' || c == '_' || c == '-';
  };
  const bool good = !text.empty() && text.size() <= 63 &&
                    std::isalnum(static_cast<unsigned char>(text.front())) &&
                    std::all_of(text.begin(), text.end(), allowed);
  if (!good)
    return Invalid("'" + std::string(text) +
                   "' is no name; use up to 63 letters, digits, '.', '_' and '-'");
  return std::string(text);
}

Result<KernelAndInitrd> NewestKernelIn(const std::string& directory) {
  constexpr std::string_view kPrefix = "vmlinuz-";
  std::string newest;
  const std::unique_ptr<DIR, int (*)(DIR*)> entries(opendir(directory.c_str()), closedir);
  while (entries) {
    const dirent* const entry = readdir(entries.get());
    if (!entry) break;
    const std::string_view name = entry->d_name;
    if (!name.starts_with(kPrefix)) continue;
    const std::string version(name.substr(kPrefix.size()));
    if (newest.empty() || strverscmp(version.c_str(), newest.c_str()) > 0) newest = version;
  }
  if (newest.empty())
    return Invalid("no kernel given and none found as " + directory +
                   "/vmlinuz-*; name one with --kernel PATH");
  KernelAndInitrd found{directory + "/" + std::string(kPrefix) + newest, std::nullopt};
  for (const std::string& initrd :
       {directory + "/initrd.img-" + newest, directory + "/initramfs-" + newest + ".img"})
    if (!found.initrd && Exists(initrd)) found.initrd = initrd;
  return found;
}

std::string KernelCommandLine(const Config& config) {
  // After a panic the kernel resets at once, warm, which is how ResetFollowedPanic() tells it
  // from a reboot.
  std::string line = "console=ttyS0 panic=-1 reboot=panic_warm";
  if (!config.disks.empty() && !HasWord(config.append, "root=")) {
    line += " root=/dev/vda";
    line += config.disks.front().open.read_only ? " ro" : " rw";
  }
  if (!config.append.empty()) line += " " + config.append;
  return line;
}

}  // namespace skiff
