#pragma once

#include <cstdint>
#include <optional>

#include "base/result.h"
#include "disk/file.h"

namespace skiff {

// What the host says about an open regular file or block device.
struct HostFacts {
  bool block_device = false;
  bool in_memory = false;      // tmpfs: no transfer waits for a disk
  uint32_t logical_block = 1;  // of a block device: unit of fallocate() and BLKDISCARD
  uint32_t physical_block = 512;
  uint32_t discard_granularity = 0;
};

Result<HostFacts> AskHost(int fd);

// In bytes, now.
Result<uint64_t> HostSize(int fd, bool block_device);

// What direct I/O on `fd`, which has O_DIRECT, demands: as statx(2) reports it, else as the block
// device does, else by trying, else 4096 bytes. nullopt if the file has no direct I/O.
std::optional<Alignment> DirectAlignment(int fd, const HostFacts& facts);

// The third of these ways alone; nullopt if it finds no answer.
std::optional<Alignment> ProbeDirectAlignment(int fd);

}  // namespace skiff
