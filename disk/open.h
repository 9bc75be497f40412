#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "disk/block.h"
#include "disk/probe.h"

namespace skiff {

class ThreadPool;

// How the host's caches stand between a disk and its file; QEMU's names and meanings.
enum class CacheMode : uint8_t {
  kWriteback,     // page cache; a flush makes writes durable
  kNone,          // direct I/O; a flush makes writes durable
  kWritethrough,  // page cache; every write is durable when it completes
  kDirectsync,    // direct I/O; every write is durable when it completes
  kUnsafe,        // page cache; flushes are ignored: a power cut may destroy the content
};

std::optional<CacheMode> ParseCacheMode(std::string_view name);

struct OpenOptions {
  std::string path;
  std::optional<ImageFormat> format;  // none: raw, unless the content looks like something else
  CacheMode cache = CacheMode::kWriteback;
  bool read_only = false;
  bool allow_empty = false;    // a disk of 0 bytes; else refused as a likely mistake
  bool lock = true;            // refuse an image that others use in a way that conflicts
  ThreadPool* pool = nullptr;  // shared by several disks, outlives them; none: its own
};

// Opens a disk for use. An error is one line for the user: file, what, why, what to do.
Result<std::unique_ptr<BlockBackend>> OpenDisk(const OpenOptions& options);

}  // namespace skiff
