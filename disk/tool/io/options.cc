#include "disk/tool/io/options.h"

#include <getopt.h>

#include <array>

#include "base/version.h"
#include "disk/tool/io/modes.h"

namespace skiff::io {
namespace {

constexpr const char* kUsage = R"( [OPTION]... [-c COMMAND]... [IMAGE]
Reads, writes and checks the content of a disk image, command by command.

  -c, --cmd COMMAND     a command; without any they come from standard input
  -f, --format FMT      format of the image: raw or qcow2 (default: as it looks)
  -r, --read-only       open it read-only
  -s, --snapshot        do not keep what is written
  -n, --nocache         past the host's page cache: -t none
  -t, --cache MODE      writeback, none, writethrough, directsync or unsafe
  -d, --discard MODE    unmap (default) or ignore
  -U, --force-share     do not lock the image; with -r only
  -m, --misalign        buffers that direct I/O cannot use as they are
      --image-opts      IMAGE is a list: driver=qcow2,file.filename=PATH
  -i, --aio MODE, -k, --native-aio, -C, --copy-on-read, -T, --trace WHAT, --object DEF
                        accepted, change nothing that can be seen
  -h, --help            show this help
  -V, --version         show the version

'-c help' lists the commands.
)";

constexpr const char* kShortOptions = "hVc:d:f:rsnCmki:t:T:U";
enum LongOnly : int { kObject = 256, kImageOptions };

constexpr std::array kLongOptions{
    option{"help", no_argument, nullptr, 'h'},
    option{"version", no_argument, nullptr, 'V'},
    option{"cmd", required_argument, nullptr, 'c'},
    option{"format", required_argument, nullptr, 'f'},
    option{"read-only", no_argument, nullptr, 'r'},
    option{"snapshot", no_argument, nullptr, 's'},
    option{"nocache", no_argument, nullptr, 'n'},
    option{"copy-on-read", no_argument, nullptr, 'C'},
    option{"misalign", no_argument, nullptr, 'm'},
    option{"native-aio", no_argument, nullptr, 'k'},
    option{"aio", required_argument, nullptr, 'i'},
    option{"cache", required_argument, nullptr, 't'},
    option{"discard", required_argument, nullptr, 'd'},
    option{"trace", required_argument, nullptr, 'T'},
    option{"force-share", no_argument, nullptr, 'U'},
    option{"object", required_argument, nullptr, kObject},
    option{"image-opts", no_argument, nullptr, kImageOptions},
    option{nullptr, 0, nullptr, 0},
};

// What the options say before it is known whether there is an image.
struct Words {
  Invocation invocation;
  ImageRequest request;
  bool image_options = false;
  std::optional<ShowText> text;
};

std::string Usage(const std::string& program) { return "Usage: " + program + kUsage; }

// An option about the image.
Result<void> SetImageOption(int letter, ImageRequest& request) {
  switch (letter) {
    case 'f':
      request.options["driver"] = optarg;
      return {};
    case 'r':
      request.read_only = true;
      return {};
    case 's':
      request.snapshot = true;
      return {};
    case 'n':
      request.cache = CacheMode::kNone;
      return {};
    case 'k':
      request.native_aio = true;
      return {};
    case 'U':
      request.force_share = true;
      return {};
    case 'i':
      return SetAio(optarg, request);
    case 't':
      return SetCache(optarg, request);
    case 'd':
      return SetDiscard(optarg, request);
    default:  // the others change nothing that can be seen here
      return {};
  }
}

Result<void> SetOption(int letter, const std::string& program, Words& words) {
  switch (letter) {
    case 'c':
      words.invocation.commands.emplace_back(optarg);
      return {};
    case 'm':
      words.invocation.placement = Placement::kMisaligned;
      return {};
    case kImageOptions:
      words.image_options = true;
      return {};
    case 'h':
      words.text = ShowText{Usage(program), 0};
      return {};
    case 'V':
      words.text = ShowText{program + " (skiff) version " + kVersion + "\n", 0};
      return {};
    case '?':
      words.text = ShowText{Usage(program), 1};
      return {};
    default:
      return SetImageOption(letter, words.request);
  }
}

Result<void> SetImage(const char* image, Words& words) {
  if (words.image_options) {
    if (words.request.options.contains("driver"))
      return Invalid("--image-opts and -f are mutually exclusive");
    words.request.options = ParseOptionString(image);
  } else {
    words.request.name = image;
  }
  words.invocation.request = words.request;
  return {};
}

}  // namespace

Result<std::variant<ShowText, Invocation>> ParseCommandLine(int argc, char** argv,
                                                            const std::string& program) {
  using Answer = std::variant<ShowText, Invocation>;
  Words words;
  while (!words.text) {
    const int letter = getopt_long(argc, argv, kShortOptions, kLongOptions.data(), nullptr);
    if (letter < 0) break;
    TRY(SetOption(letter, program, words));
  }
  if (words.text) return Answer(*words.text);
  if (argc - optind > 1) return Answer(ShowText{Usage(program), 1});
  if (argc - optind == 1) TRY(SetImage(argv[optind], words));
  return Answer(std::move(words.invocation));
}

}  // namespace skiff::io
