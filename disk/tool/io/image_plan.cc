#include "disk/tool/io/image_plan.h"

#include <algorithm>
#include <array>
#include <utility>

namespace skiff::io {
namespace {

constexpr std::string_view kOverlapChecks = "overlap-check.";  // as the ignored ones

// Options that change something, beside those that say what the image is.
constexpr std::array<std::string_view, 5> kUnderstood{"cache.direct", "cache.no-flush", "discard",
                                                      "force-share", "read-only"};
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

  // Takes all that begin with `prefix`.
  void Drop(std::string_view prefix) {
    std::erase_if(options_, [&](const auto& item) { return item.first.starts_with(prefix); });
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

Result<void> CheckModes(const ImageRequest& request, Options& options, const ImagePlan& plan) {
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
  TRY(options.TakeSwitch("lazy-refcounts", false));  // ignored, but for its form
  return {};
}

}  // namespace

Result<ImagePlan> MakePlan(const ImageRequest& request) {
  BlockOptions merged = request.options;
  if (request.name) merged.merge(TRY(ParseImageName(*request.name)));
  Options options(std::move(merged));
  const std::optional<std::string> driver = options.Take("driver");
  ImagePlan plan;
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
  options.Drop(kOverlapChecks);
  for (const std::string_view name : kIgnoredOfFile) options.Take("file." + std::string(name));
  TRY(options.ExpectNone(driver.value_or("raw")));
  return plan;
}

bool CanChange(const std::string& option) {
  const auto has = [&](const auto& names) {
    return std::find(names.begin(), names.end(), option) != names.end();
  };
  return has(kUnderstood) || has(kIgnored) || option.starts_with(kOverlapChecks);
}

}  // namespace skiff::io
