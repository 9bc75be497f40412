// skiff-img create

#include <cstdio>
#include <filesystem>

#include "base/arith.h"
#include "disk/tool/common/arguments.h"
#include "disk/tool/common/open_image.h"
#include "disk/tool/common/program.h"
#include "disk/tool/common/size_text.h"
#include "disk/tool/img/commands.h"
#include "disk/tool/img/create_options.h"
#include "disk/tool/img/help.h"

namespace skiff::tool {
namespace {

const std::vector<OptionSpec> kOptions = {
    {"help", false, 'h'}, {"F", true},      {"b", true},  {"f", true},
    {"o", true},          {"object", true}, {"q", false}, {"u", false},
};

Error OfFile(const std::string& name, const Error& why) {
  return {why.code(), name + ": " + why.message()};
}

// Where the backing file of a new image is: its name counts from the image's folder.
std::filesystem::path BackingPath(const NewImage& image) {
  const std::filesystem::path path(image.options.backing_file);
  return path.is_relative() ? std::filesystem::path(image.path).parent_path() / path : path;
}

// Making the image would destroy what it is to stand on.
bool StandsOnItself(const NewImage& image) {
  std::error_code ignored;
  return std::filesystem::equivalent(image.path, BackingPath(image), ignored);
}

// The backing file as the new image sees it: it must be usable, and its size is the default.
Result<uint64_t> SizeBelow(const NewImage& image) {
  const qcow2::CreateOptions& options = image.options;
  const std::filesystem::path path = BackingPath(image);
  ImageSource source = TRY(ParseSource(path.string(), options.backing_format, ""));
  source.name = options.backing_file;
  auto file = OpenHostFile(source.path, {.read_only = true});
  if (!file.ok())
    return Error(file.error().code(), "Could not open '" + path.string() + "': " +
                                          Words(file.error()) + "\nCould not open backing image.");
  if (options.backing_format.empty()) {
    const ImageFormat format = TRY(FormatOf(source, **file));
    return Invalid("Backing file specified without backing format\nDetected format of " +
                   std::string(NameOf(format)) + ".");
  }
  file = Unsupported("closed");
  const std::unique_ptr<Image> below = TRY(OpenChainOf(source));
  return below->limits().size;
}

Result<KeyValues> CollectKeys(const Arguments& arguments) {
  KeyValues keys;
  for (const std::string& text : arguments.Values("o")) keys.Append(TRY(KeyValues::Parse(text)));
  if (arguments.Has("b")) keys.Add("backing_file", arguments.Value("b"));
  if (arguments.Has("F")) keys.Add("backing_fmt", arguments.Value("F"));
  return keys;
}

Result<uint64_t> ParseUsersSize(const std::string& text) {
  const auto size = ParseSize(text);
  if (size.ok()) return size;
  if (size.error().code() == ErrorCode::kOutOfRange)
    return Invalid("Image size must be less than 8 EiB!");
  return Invalid("Invalid image size specified. You may use k, M, G, T, P or E suffixes for\n" +
                 ProgramName() +
                 ": kilobytes, megabytes, gigabytes, terabytes, petabytes and exabytes.");
}

Result<NewImage> PlanImage(const Arguments& arguments, ImageFormat format) {
  const std::string& name = arguments.names()[0];
  Result<NewImage> parsed = ParseNewImage(name, format, TRY(CollectKeys(arguments)));
  if (!parsed.ok()) return OfFile(name, parsed.error());
  NewImage image = *std::move(parsed);
  if (arguments.names().size() == 2) image.size = TRY(ParseUsersSize(arguments.names()[1]));
  if (!image.options.backing_file.empty() && StandsOnItself(image))
    return Invalid(name +
                   ": Error: Trying to create an image with the same filename as the backing file");
  if (!image.options.backing_file.empty() && !arguments.Has("u")) {
    const Result<uint64_t> below = SizeBelow(image);
    if (!below.ok()) return OfFile(name, below.error());
    if (!image.size) image.size = *below;
  }
  if (!image.size) return Invalid(name + ": Image creation needs a size parameter");
  image.options.size = *image.size;
  return image;
}

Result<void> RunCreate(const Arguments& arguments) {
  const std::string& name = arguments.names()[0];
  const std::string format_name = arguments.Value("f", "raw");
  const auto format = ParseImageFormat(format_name);
  if (!format) return Invalid(name + ": Unknown file format '" + format_name + "'");
  NewImage image = TRY(PlanImage(arguments, *format));
  if (!arguments.Has("q")) std::printf("%s\n", Announcement(image).c_str());
  image.options.size = AlignUp(image.options.size, 512);
  const Result<void> made = Create(image);
  if (!made.ok()) return OfFile(name, made.error());
  return {};
}

bool WantsOptionsHelp(const Arguments& arguments) {
  for (const std::string& text : arguments.Values("o"))
    if (text == "help" || text == "?" || text.ends_with(",help") || text.ends_with(",?") ||
        text.starts_with("help,") || text.starts_with("?,"))
      return true;
  return false;
}

}  // namespace

int CreateCommand(int argc, char** argv) {
  const Result<Arguments> arguments = Arguments::Parse(argc, argv, kOptions);
  if (!arguments.ok()) return FailUsage(arguments.error().message());
  if (arguments->Has("help")) return PrintHelp();
  if (WantsOptionsHelp(*arguments)) {
    const auto format = ParseImageFormat(arguments->Value("f", "raw"));
    if (!format) return Fail("Unknown file format '" + arguments->Value("f") + "'");
    std::fputs(OptionsHelp(*format).c_str(), stdout);
    return 0;
  }
  const size_t names = arguments->names().size();
  if (names == 0) return FailUsage("Expecting image file name");
  if (names > 2) return FailUsage("Unexpected argument: " + arguments->names()[2]);
  const Result<void> done = RunCreate(*arguments);
  return done.ok() ? 0 : Fail(done.error().message());
}

}  // namespace skiff::tool
