#include "disk/tool/img/create_options.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <bit>

#include "base/arith.h"
#include "base/unique_fd.h"
#include "disk/posix_file.h"
#include "disk/tool/common/open_image.h"
#include "disk/tool/common/program.h"
#include "disk/tool/common/size_text.h"

namespace skiff::tool {
namespace {

using qcow2::CreateOptions;
using qcow2::Preallocation;

constexpr const char* kPreallocations[] = {"off", "metadata", "falloc", "full"};

Error NotAccepted(std::string_view key, std::string_view value) {
  return Invalid(fmt::format("Parameter '{}' does not accept value '{}'", key, value));
}

Result<uint64_t> TakeSize(KeyValues& keys, const char* key, uint64_t otherwise) {
  const auto text = keys.Take(key);
  if (!text) return otherwise;
  const auto size = ParseSize(*text);
  if (!size.ok())
    return Invalid(fmt::format("Parameter '{}' expects a non-negative number below 2^64", key));
  return size;
}

Result<Preallocation> TakePreallocation(KeyValues& keys, ImageFormat format) {
  const std::string text = keys.Take("preallocation").value_or("off");
  for (size_t n = 0; n < std::size(kPreallocations); ++n) {
    const auto mode = static_cast<Preallocation>(n);
    if (text != kPreallocations[n]) continue;
    if (mode == Preallocation::kMetadata && format == ImageFormat::kRaw)
      return Invalid("Unsupported preallocation mode 'metadata'");
    return mode;
  }
  return NotAccepted("preallocation", text);
}

Result<uint32_t> VersionOf(const std::string& text) {
  if (text.empty()) return 3u;
  if (text == "v3" || text == "1.1") return 3u;
  if (text == "v2" || text == "0.10") return 2u;
  return NotAccepted("version", text);
}

Result<uint8_t> TakeCompression(KeyValues& keys) {
  const std::string text = keys.Take("compression_type").value_or("zlib");
  if (text == "zlib") return qcow2::kCompressionZlib;
  if (text == "zstd") return qcow2::kCompressionZstd;
  return NotAccepted("compression_type", text);
}

Result<void> RefuseEncryption(KeyValues& keys) {
  const auto encryption = TRY(keys.TakeSwitch("encryption"));
  const auto format = keys.Take("encrypt.format");
  if ((encryption && *encryption) || format)
    return Unsupported("Encrypted images cannot be made yet");
  return {};
}

Result<void> TakeQcow2(KeyValues& keys, NewImage& image) {
  CreateOptions& options = image.options;
  TRY(RefuseEncryption(keys));
  const uint64_t cluster_size = TRY(TakeSize(keys, "cluster_size", 64 * kKiB));
  options.cluster_bits =
      IsPowerOfTwo(cluster_size) ? static_cast<uint32_t>(std::countr_zero(cluster_size)) : 0;
  const uint64_t refcount_bits = TRY(TakeSize(keys, "refcount_bits", 16));
  options.refcount_order = IsPowerOfTwo(refcount_bits)
                               ? static_cast<uint32_t>(std::countr_zero(refcount_bits))
                               : UINT32_MAX;
  image.compat = keys.Take("compat").value_or("");
  options.version = TRY(VersionOf(image.compat));
  options.extended_l2 = TRY(keys.TakeSwitch("extended_l2")).value_or(false);
  options.lazy_refcounts = TRY(keys.TakeSwitch("lazy_refcounts")).value_or(false);
  options.compression_type = TRY(TakeCompression(keys));
  options.backing_file = keys.Take("backing_file").value_or("");
  options.backing_format = keys.Take("backing_fmt").value_or("");
  if (keys.Take("data_file")) return Unsupported("External data files cannot be made yet");
  return {};
}

Result<void> MakeRaw(File& file, const CreateOptions& options) {
  if (file.facts().fixed_size) {
    if (options.size > file.size()) return Error(ErrorCode::kNoSpace, "The device is too small");
    return {};
  }
  TRY(file.Resize(0));
  TRY(file.Resize(options.size));
  const FileRange all = TRY(FileRange::Make(FileOffset(0), options.size));
  if (options.preallocation == Preallocation::kFalloc) TRY(file.Zero(all, /*may_unmap=*/false));
  // Some file systems answer for holes otherwise than for data when asked how direct I/O must be
  // aligned; so the first block is none.
  const std::vector<std::byte> zeroes(4096);
  const bool full = options.preallocation == Preallocation::kFull;
  for (FileRange rest = full ? all : all.Prefix(zeroes.size()); !rest.empty();
       rest = rest.Suffix(zeroes.size())) {
    const FileRange piece = rest.Prefix(zeroes.size());
    TRY(WriteBytes(file, piece.start(), std::span(zeroes).first(piece.length())));
  }
  return {};
}

// True if it was not there before.
Result<bool> MakeFile(const std::string& name, const std::string& path) {
  const bool there = access(path.c_str(), F_OK) == 0;
  const UniqueFd file(open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644));
  if (!file.valid()) {
    const Error why = Error::FromErrno("open");
    return Error(why.code(), "Could not create '" + name + "': " + Words(why));
  }
  return !there;
}

Result<void> Fill(const NewImage& image) {
  PosixFileOptions options;
  std::unique_ptr<File> file = TRY(OpenHostFile(image.path, options));
  if (image.format == ImageFormat::kRaw) return MakeRaw(*file, image.options);
  return CreateImage(*file, image.options);
}

const char* Switch(bool on) { return on ? "on" : "off"; }

}  // namespace

Result<NewImage> ParseNewImage(const std::string& name, ImageFormat format, KeyValues keys) {
  NewImage image;
  image.name = name;
  image.path = TRY(ParseSource(name, "", "")).path;
  image.format = format;
  if (const auto size = keys.Take("size")) image.size = TRY(ParseSize(*size));
  image.options.preallocation = TRY(TakePreallocation(keys, format));
  if (format == ImageFormat::kQcow2) {
    TRY(TakeQcow2(keys, image));
  } else {
    TRY(keys.TakeSwitch("nocow"));
    TRY(TakeSize(keys, "extent_size_hint", 0));
    if (keys.Take("backing_file") || keys.Take("backing_fmt"))
      return Invalid("Backing file not supported for file format 'raw'");
  }
  if (const std::string unknown = keys.Unused(); !unknown.empty())
    return Invalid("Invalid parameter '" + unknown + "'");
  return image;
}

std::string Announcement(const NewImage& image) {
  const CreateOptions& options = image.options;
  const bool prealloc = options.preallocation != Preallocation::kOff;
  const std::string preallocation =
      prealloc ? fmt::format(" preallocation={}",
                             kPreallocations[static_cast<size_t>(options.preallocation)])
               : "";
  if (image.format == ImageFormat::kRaw)
    return fmt::format("Formatting '{}', fmt=raw size={}{}", image.name, options.size,
                       preallocation);
  std::string text = fmt::format(
      "Formatting '{}', fmt=qcow2 cluster_size={} extended_l2={}{} compression_type={} size={}",
      image.name, uint64_t{1} << options.cluster_bits, Switch(options.extended_l2), preallocation,
      options.compression_type == qcow2::kCompressionZstd ? "zstd" : "zlib", options.size);
  if (!image.compat.empty()) text += " compat=" + image.compat;
  if (!options.backing_file.empty()) text += " backing_file=" + options.backing_file;
  if (!options.backing_format.empty()) text += " backing_fmt=" + options.backing_format;
  return text + fmt::format(" lazy_refcounts={} refcount_bits={}", Switch(options.lazy_refcounts),
                            uint64_t{1} << options.refcount_order);
}

std::string OptionsHelp(ImageFormat format) {
  if (format == ImageFormat::kRaw)
    return "Supported raw options:\n"
           "  preallocation=<str>    - Preallocation mode (allowed values: off, falloc, full)\n"
           "  size=<size>            - Virtual disk size\n";
  return "Supported qcow2 options:\n"
         "  backing_file=<str>     - File name of a base image\n"
         "  backing_fmt=<str>      - Image format of the base image\n"
         "  cluster_size=<size>    - qcow2 cluster size\n"
         "  compat=<str>           - Compatibility level (v2 [0.10] or v3 [1.1])\n"
         "  compression_type=<str> - Compression method used for image cluster compression\n"
         "  extended_l2=<bool (on/off)> - Extended L2 tables\n"
         "  lazy_refcounts=<bool (on/off)> - Postpone refcount updates\n"
         "  preallocation=<str>    - Preallocation mode (allowed values: off, metadata, falloc, "
         "full)\n"
         "  refcount_bits=<num>    - Width of a reference count entry in bits\n"
         "  size=<size>            - Virtual disk size\n";
}

Result<void> Create(const NewImage& image) {
  if (image.format == ImageFormat::kQcow2) TRY(CheckCreateOptions(image.options));
  const bool made = TRY(MakeFile(image.name, image.path));
  Result<void> filled = Fill(image);
  if (!filled.ok() && made) unlink(image.path.c_str());
  return filled;
}

}  // namespace skiff::tool
