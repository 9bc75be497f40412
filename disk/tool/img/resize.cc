// skiff-img resize

#include "disk/resize.h"

#include <cstdio>

#include "base/arith.h"
#include "disk/tool/common/program.h"
#include "disk/tool/common/size_text.h"
#include "disk/tool/img/commands.h"
#include "disk/tool/img/help.h"
#include "disk/tool/img/one_image.h"

namespace skiff::tool {
namespace {

const std::vector<OptionSpec> kOptions = {
    {"help", false, 'h'}, {"f", true},           {"object", true},
    {"q", false},         {"image-opts", false}, {"preallocation", true},
    {"shrink", false},
};

// "10G", "+1G" or "-1G" of a disk of `current` bytes.
Result<uint64_t> NewSize(const std::string& text, uint64_t current) {
  const bool relative = !text.empty() && (text.front() == '+' || text.front() == '-');
  const Result<uint64_t> parsed = ParseSize(relative ? std::string_view(text).substr(1) : text);
  if (!parsed.ok())
    return Invalid(
        "Parameter 'size' expects a non-negative number below 2^64\nOptional suffix k, M, G, T, P "
        "or "
        "E means kilo-, mega-, giga-, tera-, peta-\nand exabytes, respectively.");
  uint64_t size = *parsed;
  if (relative) {
    if (text.front() == '-' && *parsed > current) return Invalid("New image size must be positive");
    size = text.front() == '+' ? current + *parsed : current - *parsed;
  }
  if (size == 0) return Invalid("New image size must be positive");
  return AlignUp(size, 512);
}

Result<void> CheckPreallocation(const std::string& mode) {
  if (mode.empty() || mode == "off") return {};
  if (mode == "metadata" || mode == "falloc" || mode == "full")
    return Unsupported("Preallocation '" + mode + "' cannot be used for a resize yet");
  return Invalid("Invalid preallocation mode '" + mode + "'");
}

Result<void> RunResize(const Arguments& arguments, const std::string& text) {
  TRY(CheckPreallocation(arguments.Value("preallocation")));
  ImageSource source = TRY(SourceOf(arguments));
  source.writable = true;
  const std::unique_ptr<Image> image = TRY(OpenChainOf(source));
  const uint64_t current = image->limits().size;
  const uint64_t size = TRY(NewSize(text, current));
  if (size < current && !arguments.Has("shrink")) {
    PrintError("Use the --shrink option to perform a shrink operation.");
    return Invalid(
        "warning: Shrinking an image will delete all data beyond the shrunken image's end. Before "
        "performing such an operation, make sure there is no important data there.");
  }
  Result<void> resized = ResizeDisk(*image, size);
  Result<void> closed = image->Close();
  TRY(std::move(resized));
  TRY(std::move(closed));
  if (!arguments.Has("q")) std::printf("Image resized.\n");
  return {};
}

}  // namespace

int ResizeCommand(int argc, char** argv) {
  // The size may start with a minus, so it is taken before anybody looks for options.
  if (argc < 3) return FailUsage("Not enough arguments");
  const std::string size = argv[--argc];
  argv[argc] = nullptr;
  const Result<Arguments> arguments = Arguments::Parse(argc, argv, kOptions);
  if (!arguments.ok()) return FailUsage(arguments.error().message());
  if (arguments->Has("help")) return PrintHelp();
  if (arguments->names().size() != 1) return FailUsage("Expecting image file name and size");
  const Result<void> done = RunResize(*arguments, size);
  return done.ok() ? 0 : Fail(done.error().message());
}

}  // namespace skiff::tool
