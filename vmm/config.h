#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/log.h"
#include "base/result.h"
#include "disk/open.h"
#include "vmm/console/console.h"

namespace skiff {

// One --disk option.
struct DiskConfig {
  OpenOptions open;
  std::string serial;  // VIRTIO 1.2, 5.2.6.1: at most 20 bytes reach the guest; empty: a default
};

enum class OnReboot : uint8_t { kExit, kRestart };

// What `skiff run` was asked for, checked as far as that is possible without touching the host:
// a Config can be built into a machine or fails for the host's reasons.
struct Config {
  std::string name;
  std::string kernel;
  std::optional<std::string> initrd;
  std::string append;  // the user's part of the kernel command line
  uint64_t memory_bytes = 0;
  uint32_t cpus = 1;
  std::vector<DiskConfig> disks;
  ConsoleConfig console;
  OnReboot on_reboot = OnReboot::kExit;
  std::optional<std::chrono::milliseconds> timeout;
  LogLevel log_level = LogLevel::kWarning;
};

// "512M", "2G", "1.5G" without a suffix MiB, as kvmtool and QEMU take it. kInvalid names the text.
Result<uint64_t> ParseMemorySize(std::string_view text);

// "90", "1.5", "2m", "1h", "500ms": seconds unless a unit says otherwise.
Result<std::chrono::milliseconds> ParseDuration(std::string_view text);

// "PATH[,readonly=on|off][,format=raw|qcow2][,cache=…][,serial=ID]"; a comma inside PATH is
// written twice, as for QEMU.
Result<DiskConfig> ParseDisk(std::string_view text);

// "stdio", "off" or "file:PATH".
Result<ConsoleConfig> ParseConsole(std::string_view text);

// Letters, digits, '.', '_' and '-', at most 63, starting with a letter or digit.
Result<std::string> ParseName(std::string_view text);

struct KernelAndInitrd {
  std::string kernel;
  std::optional<std::string> initrd;
};

// The newest vmlinuz-VERSION of `directory` (usually /boot) with its initrd.img-VERSION or
// initramfs-VERSION.img if there is one. kInvalid when there is none.
Result<KernelAndInitrd> NewestKernelIn(const std::string& directory);

// The whole kernel command line: ours first, so that the user's words win.
std::string KernelCommandLine(const Config& config);

}  // namespace skiff
