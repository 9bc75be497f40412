#include "disk/tool/img/help.h"

#include <cstdio>

#include "base/version.h"
#include "disk/tool/common/program.h"

namespace skiff::tool {
namespace {

constexpr char kHelp[] = R"(
Makes, checks and measures disk images. Options and output are those of qemu-img.

Command syntax:
  bench [-c count] [-d depth] [-f fmt] [--flush-interval=flush_interval] [-i aio] [-n] [--no-drain] [-o offset] [--pattern=pattern] [-q] [-s buffer_size] [-S step_size] [-t cache] [-w] [-U] filename
  check [--image-opts] [-q] [-f fmt] [--output=ofmt] [-r [leaks | all]] [-T src_cache] [-U] filename
  create [-q] [-f fmt] [-b backing_file [-F backing_fmt]] [-u] [-o options] filename [size]
  info [--image-opts] [-f fmt] [--output=ofmt] [--backing-chain] [-U] filename
  resize [--image-opts] [-f fmt] [--preallocation=prealloc] [-q] [--shrink] filename [+ | -]size
  snapshot [--image-opts] [-U] [-q] [-l | -a snapshot | -c snapshot | -d snapshot] filename

Command parameters:
  'filename' is the name of an image's file on this host
  'fmt' is the disk image format: raw or qcow2. Without it, it is guessed by the content
  'cache' is 'none', 'writeback' (default), 'writethrough', 'directsync' or 'unsafe'
  'size' is in bytes; suffixes k, M, G, T, P and E are powers of 1024
  'options' is a comma separated list of name=value; '-o help' lists them
  'ofmt' is human or json
  '-q' prints nothing but errors
  '-u' makes an image without looking for its backing file
  '-U' opens the image though others may write to it meanwhile
  '-r' repairs: 'leaks' what nothing refers to, 'all' everything that can be put right

Supported formats: qcow2 raw
)";

}  // namespace

int PrintHelp() {
  std::printf("%s version %s\nusage: %s command [command options]\n%s", ProgramName().c_str(),
              kVersion, ProgramName().c_str(), kHelp);
  return 0;
}

int PrintVersion() {
  std::printf("%s version %s\n", ProgramName().c_str(), kVersion);
  return 0;
}

}  // namespace skiff::tool
