#include "disk/open.h"

#include <array>
#include <utility>

#include "disk/chain.h"
#include "disk/engine/backend.h"
#include "disk/posix_file.h"

namespace skiff {
namespace {

constexpr std::array kCacheModes{
    std::pair<std::string_view, CacheMode>{"writeback", CacheMode::kWriteback},
    std::pair<std::string_view, CacheMode>{"none", CacheMode::kNone},
    std::pair<std::string_view, CacheMode>{"writethrough", CacheMode::kWritethrough},
    std::pair<std::string_view, CacheMode>{"directsync", CacheMode::kDirectsync},
    std::pair<std::string_view, CacheMode>{"unsafe", CacheMode::kUnsafe},
};

bool WritesThrough(CacheMode mode) {
  return mode == CacheMode::kWritethrough || mode == CacheMode::kDirectsync;
}

PosixFileOptions FileOptions(const OpenOptions& options) {
  PosixFileOptions file;
  file.read_only = options.read_only;
  file.direct = options.cache == CacheMode::kNone || options.cache == CacheMode::kDirectsync;
  file.ignore_sync = options.cache == CacheMode::kUnsafe;
  file.lock = options.lock;
  return file;
}

Error Empty(const std::string& path, const File& file) {
  if (file.facts().fixed_size) return Invalid(path + ": the device has no medium (size 0)");
  return Invalid(path + ": is empty; give it a size first: truncate -s 10G " + path);
}

// The format that was named, or raw. A guess of anything else is never acted on, not even for
// reading: whoever wrote the content would choose which host files we open.
Result<ImageFormat> ChooseFormat(const OpenOptions& options, File& file) {
  if (options.format) return *options.format;
  const ImageFormat guess = TRY(GuessFormat(file));
  if (guess == ImageFormat::kRaw) return guess;
  const std::string name(NameOf(guess));
  return Invalid("looks like a " + name + " image, but a guest may have written that; add format=" +
                 name + " if it is one, or format=raw to use the bytes as they are");
}

Result<std::unique_ptr<Image>> OpenImage(const OpenOptions& options, std::unique_ptr<File> file) {
  const ImageFormat format = TRY(ChooseFormat(options, *file));
  return OpenChain(options.path, format, std::move(file), FileOptions(options));
}

}  // namespace

std::optional<CacheMode> ParseCacheMode(std::string_view name) {
  for (const auto& [known, mode] : kCacheModes) {
    if (known == name) return mode;
  }
  return std::nullopt;
}

Result<std::unique_ptr<BlockBackend>> OpenDisk(const OpenOptions& options) {
  std::unique_ptr<File> file = TRY(OpenHostFile(options.path, FileOptions(options)));
  const bool takes_any_size = options.allow_empty || options.format == ImageFormat::kQcow2;
  if (file->size() == 0 && !takes_any_size) return Empty(options.path, *file);
  Result<std::unique_ptr<Image>> image = OpenImage(options, std::move(file));
  if (!image.ok()) return std::move(image).error().While(options.path);
  std::unique_ptr<BlockBackend> disk = TRY(ThreadPoolBackend::Make(
      std::move(image).value(), options.pool, WritesThrough(options.cache)));
  return disk;
}

}  // namespace skiff
