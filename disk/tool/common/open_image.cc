#include "disk/tool/common/open_image.h"

#include "disk/chain.h"
#include "disk/engine/backend.h"
#include "disk/tool/common/key_values.h"
#include "disk/tool/common/program.h"

namespace skiff::tool {
namespace {

PosixFileOptions FileOptions(const ImageSource& source) {
  PosixFileOptions options;
  options.read_only = !source.writable;
  options.direct = source.cache == CacheMode::kNone || source.cache == CacheMode::kDirectsync;
  options.ignore_sync = source.cache == CacheMode::kUnsafe;
  options.lock = !source.force_share;
  return options;
}

Error CouldNotOpen(const ImageSource& source, const Error& why) {
  const std::string could_not = "Could not open '" + source.name + "': ";
  // Of the file itself, in QEMU's words; all else names what is wrong in ours.
  if (why.os_error() != 0) return {why.code(), could_not + could_not + Words(why)};
  return {why.code(), could_not + why.message()};
}

Result<void> ApplyFormat(ImageSource& source, const std::string& format) {
  if (format.empty()) return {};
  source.format = ParseImageFormat(format);
  if (!source.format)
    return Invalid("Could not open '" + source.name + "': Unknown driver '" + format + "'");
  return {};
}

Result<void> ApplyCache(ImageSource& source, const std::string& cache) {
  if (cache.empty()) return {};
  const auto mode = ParseCacheMode(cache);
  if (!mode) return Invalid("Invalid source cache option: " + cache);
  source.cache = *mode;
  return {};
}

}  // namespace

Result<ImageSource> ParseSource(const std::string& name, const std::string& format,
                                const std::string& cache) {
  ImageSource source;
  source.name = name;
  source.path = name.starts_with("file:") ? name.substr(5) : name;
  const size_t colon = source.path.find(':');
  if (colon != std::string::npos && colon < source.path.find('/') && source.path == name)
    return Unsupported("Could not open '" + name + "': Unknown protocol '" + name.substr(0, colon) +
                       "'");
  TRY(ApplyFormat(source, format));
  TRY(ApplyCache(source, cache));
  return source;
}

Result<ImageSource> ParseImageOptions(const std::string& options, const std::string& cache) {
  KeyValues keys = TRY(KeyValues::Parse(options));
  ImageSource source;
  std::string driver = keys.Take("driver").value_or("");
  const std::string file_driver = keys.Take("file.driver").value_or("file");
  const auto nested = keys.Take("file.filename");
  const auto plain = keys.Take("filename");
  if (driver == "file") driver = "raw";
  if (!nested && !plain) return Invalid("A block device must be specified for \"file\"");
  source.path = nested.value_or(plain.value_or(""));
  source.name = source.path;
  if (file_driver != "file")
    return Unsupported("Could not open '" + source.name + "': Unknown driver '" + file_driver +
                       "'");
  TRY(ApplyFormat(source, driver));
  TRY(ApplyCache(source, cache));
  for (const char* prefix : {"", "file."}) {
    const auto direct = TRY(keys.TakeSwitch(std::string(prefix) + "cache.direct"));
    if (direct && *direct) source.cache = CacheMode::kNone;
    TRY(keys.TakeSwitch(std::string(prefix) + "cache.no-flush"));
    TRY(keys.TakeSwitch(std::string(prefix) + "read-only"));
  }
  if (const std::string unknown = keys.Unused(); !unknown.empty())
    return Invalid("Could not open '" + source.name +
                   "': Block format does not support the option '" + unknown + "'");
  return source;
}

Result<std::unique_ptr<File>> OpenFile(const ImageSource& source) {
  auto file = OpenHostFile(source.path, FileOptions(source));
  if (!file.ok()) return CouldNotOpen(source, file.error());
  return file;
}

Result<ImageFormat> FormatOf(const ImageSource& source, File& file) {
  if (source.format) return *source.format;
  const Result<ImageFormat> guess = GuessFormat(file);
  if (!guess.ok()) return CouldNotOpen(source, guess.error());
  return guess;
}

Result<std::unique_ptr<Image>> OpenChainOf(const ImageSource& source) {
  std::unique_ptr<File> file = TRY(OpenFile(source));
  const ImageFormat format = TRY(FormatOf(source, *file));
  auto image = OpenChain(source.path, format, std::move(file), FileOptions(source));
  if (!image.ok()) return CouldNotOpen(source, image.error());
  return image;
}

Result<std::unique_ptr<BlockBackend>> OpenBackend(const ImageSource& source) {
  const bool through =
      source.cache == CacheMode::kWritethrough || source.cache == CacheMode::kDirectsync;
  std::unique_ptr<Image> image = TRY(OpenChainOf(source));
  std::unique_ptr<BlockBackend> backend =
      TRY(ThreadPoolBackend::Make(std::move(image), nullptr, through));
  return backend;
}

}  // namespace skiff::tool
