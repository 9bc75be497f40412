#include "disk/tool/io/open_image.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstring>
#include <utility>

#include "base/unique_fd.h"
#include "disk/image_lock.h"
#include "disk/posix_file.h"

namespace skiff::io {
namespace {

// Options of QEMU's drivers that change nothing here.
constexpr std::array<std::string_view, 13> kIgnored{
    "auto-read-only",
    "cache-clean-interval",
    "cache-size",
    "detect-zeroes",
    "l2-cache-entry-size",
    "l2-cache-size",
    "lazy-refcounts",
    "node-name",
    "pass-discard-other",
    "pass-discard-request",
    "pass-discard-snapshot",
    "refcount-cache-size",
    "overlap-check",
};
constexpr std::array<std::string_view, 5> kIgnoredOfFile{"aio", "locking", "node-name",
                                                         "auto-read-only", "read-only"};

// The options one by one: what is left at the end is what nobody knows.
class Options {
 public:
  explicit Options(BlockOptions options) : options_(std::move(options)) {}

  std::optional<std::string> Take(const std::string& name) {
    auto node = options_.extract(name);
    if (node.empty()) return std::nullopt;
    return std::move(node.mapped());
  }

  Result<bool> TakeSwitch(const std::string& name, bool otherwise) {
    const std::optional<std::string> word = Take(name);
    if (!word) return otherwise;
    if (*word == "on" || *word == "yes" || *word == "true") return true;
    if (*word == "off" || *word == "no" || *word == "false") return false;
    return Invalid("Parameter '" + name + "' expects 'on' or 'off'");
  }

  bool HasFile() const {
    const auto it = options_.lower_bound("file.");
    return it != options_.end() && it->first.starts_with("file.");
  }

  Result<void> ExpectNone(const std::string& driver) const {
    if (options_.empty()) return {};
    const std::string& name = options_.begin()->first;
    if (name.starts_with("file."))
      return Invalid("Block protocol 'file' doesn't support the option '" + name.substr(5) + "'");
    return Invalid("Block format '" + driver + "' does not support the option '" + name + "'");
  }

 private:
  BlockOptions options_;
};

// What is to be opened, and how.
struct Plan {
  OpenOptions options;
  bool format_guessed = false;
  bool discard = true;
};

bool IsFileDriver(std::string_view driver) { return driver == "file" || driver == "host_device"; }

Error UnknownDriver(const std::string& driver) {
  return Unsupported("Unknown driver '" + driver + "'");
}

Result<CacheMode> ChooseCache(Options& options, CacheMode mode) {
  const bool through = mode == CacheMode::kWritethrough || mode == CacheMode::kDirectsync;
  const bool was_direct = mode == CacheMode::kNone || mode == CacheMode::kDirectsync;
  const bool direct = TRY(options.TakeSwitch("cache.direct", was_direct));
  if (TRY(options.TakeSwitch("cache.no-flush", mode == CacheMode::kUnsafe)))
    return CacheMode::kUnsafe;
  if (direct) return through ? CacheMode::kDirectsync : CacheMode::kNone;
  return through ? CacheMode::kWritethrough : CacheMode::kWriteback;
}

// The path of the file, from the options of the format's driver or of the file's own.
Result<std::string> ChoosePath(Options& options, const std::optional<std::string>& driver) {
  const bool itself = driver && IsFileDriver(*driver);
  if (!driver && !options.HasFile()) return Invalid("Must specify either driver or file");
  if (!itself && !options.HasFile())
    return Invalid("A block device must be specified for \"file\"");
  const std::optional<std::string> file_driver = options.Take("file.driver");
  if (file_driver && !IsFileDriver(*file_driver)) return UnknownDriver(*file_driver);
  std::optional<std::string> path = options.Take(itself ? "filename" : "file.filename");
  if (itself && !path) path = options.Take("file.filename");
  if (!path) return Invalid("The 'file' block driver requires a file name");
  return *path;
}

Result<std::optional<ImageFormat>> ChooseFormat(const std::optional<std::string>& driver) {
  if (!driver) return std::optional<ImageFormat>();
  if (IsFileDriver(*driver)) return std::optional(ImageFormat::kRaw);
  const std::optional<ImageFormat> format = ParseImageFormat(*driver);
  if (!format) return UnknownDriver(*driver);
  return format;
}

Result<void> CheckModes(const ImageRequest& request, Options& options, const Plan& plan) {
  const CacheMode cache = plan.options.cache;
  const bool direct = cache == CacheMode::kNone || cache == CacheMode::kDirectsync;
  if (TRY(options.TakeSwitch("read-only", false)) && !request.read_only)
    return ReadOnly("Block node is read-only");
  if (!plan.options.lock && !request.read_only)
    return Invalid("force-share=on can only be used with read-only images");
  if (request.native_aio && !direct)
    return Invalid(
        "aio=native was specified, but it requires cache.direct=on, which was not specified.");
  if (request.snapshot) return Unsupported("Temporary snapshots are not supported");
  return {};
}

Result<Plan> MakePlan(const ImageRequest& request) {
  BlockOptions merged = request.options;
  if (request.name) merged.merge(TRY(ParseImageName(*request.name)));
  Options options(std::move(merged));
  const std::optional<std::string> driver = options.Take("driver");
  Plan plan;
  plan.options.format = TRY(ChooseFormat(driver));
  plan.options.path = TRY(ChoosePath(options, driver));
  plan.options.cache = TRY(ChooseCache(options, request.cache));
  plan.options.read_only = request.read_only;
  plan.options.allow_empty = true;
  plan.options.lock = !TRY(options.TakeSwitch("force-share", request.force_share));
  const std::optional<std::string> discard = options.Take("discard");
  plan.discard = discard ? *discard == "unmap" || *discard == "on" : request.discard;
  TRY(CheckModes(request, options, plan));
  for (const std::string_view name : kIgnored) options.Take(std::string(name));
  for (const std::string_view name : kIgnoredOfFile) options.Take("file." + std::string(name));
  TRY(options.ExpectNone(driver.value_or("raw")));
  return plan;
}

// Tells what the host says about the file in QEMU's words.
Result<UniqueFd> TryToOpen(const std::string& path, bool read_only) {
  struct stat facts {};
  UniqueFd fd(open(path.c_str(), (read_only ? O_RDONLY : O_RDWR) | O_CLOEXEC | O_NONBLOCK));
  int os_error = fd.valid() ? 0 : errno;
  if (fd.valid() && fstat(fd.get(), &facts) == 0 && S_ISDIR(facts.st_mode)) os_error = EISDIR;
  if (os_error != 0) return Error::FromErrno("Could not open '" + path + "'", os_error);
  return fd;
}

Result<ImageFormat> Guess(const std::string& path) {
  PosixFileOptions options;
  options.read_only = true;
  options.lock = false;
  const std::unique_ptr<File> file = TRY(OpenHostFile(path, options));
  return GuessFormat(*file);
}

Result<void> SettleFormat(Plan& plan) {
  const ImageFormat guess = TRY(Guess(plan.options.path));
  plan.format_guessed = !plan.options.format;
  if (plan.format_guessed) plan.options.format = guess;
  if (plan.options.format == ImageFormat::kQcow2 && guess != ImageFormat::kQcow2)
    return Invalid("Image is not in qcow2 format");
  return {};
}

// Why OpenDisk() failed, with the name of the path taken off: the caller says it.
Error Explain(const OpenOptions& options, int fd, const Error& error) {
  if (options.lock && !LockImage(fd, options.path, /*writer=*/!options.read_only).ok())
    return Invalid(std::string("Failed to get ") + (options.read_only ? "shared " : "") +
                   "\"write\" lock\nIs another process using the image [" + options.path + "]?");
  const std::string prefix = options.path + ": ";
  const std::string& message = error.message();
  return Error(error.code(), message.starts_with(prefix) ? message.substr(prefix.size()) : message);
}

void WarnOfGuess(const std::string& path) {
  std::fprintf(stderr,
               "WARNING: Image format was not specified for '%s' and probing guessed raw.\n"
               "         Automatically detecting the format is dangerous for raw images, write "
               "operations on block 0 will be restricted.\n"
               "         Specify the 'raw' format explicitly to remove the restrictions.\n",
               path.c_str());
}

}  // namespace

Result<OpenImage> Open(const ImageRequest& request) {
  Plan plan = TRY(MakePlan(request));
  const OpenOptions& options = plan.options;
  const UniqueFd fd = TRY(TryToOpen(options.path, options.read_only));
  TRY(SettleFormat(plan));
  Result<std::unique_ptr<BlockBackend>> backend = OpenDisk(options);
  if (!backend.ok()) return Explain(options, fd.get(), backend.error());
  if (plan.format_guessed && options.format == ImageFormat::kRaw && !options.read_only)
    WarnOfGuess(options.path);
  std::unique_ptr<Disk> disk = TRY(Disk::Make(std::move(backend).value()));
  return OpenImage{request, options.path, *options.format, plan.discard, std::move(disk)};
}

}  // namespace skiff::io
