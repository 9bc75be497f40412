#include "disk/tool/io/open_image.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <cstdio>
#include <filesystem>
#include <utility>

#include "base/unique_fd.h"
#include "disk/image_lock.h"
#include "disk/posix_file.h"

namespace skiff::io {
namespace {

constexpr int kDeepest = 200;  // files one over the other

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

// Sets the format. True: it was guessed.
Result<bool> SettleFormat(ImagePlan& plan) {
  const ImageFormat guess = TRY(Guess(plan.options.path));
  const bool guessed = !plan.options.format;
  if (guessed) plan.options.format = guess;
  if (plan.options.format == ImageFormat::kQcow2 && guess != ImageFormat::kQcow2)
    return Invalid("Image is not in qcow2 format");
  return guessed;
}

// Tells which of the files below cannot be opened, in QEMU's words.
Result<void> TryBelow(std::string path) {
  std::string whose;
  for (int depth = 0; depth < kDeepest; ++depth) {
    const Result<qcow2::Header> header = ReadHeader(path);
    if (!header.ok() || header->backing_file.empty()) return {};
    std::string_view name = header->backing_file;
    if (name.starts_with("file:")) name.remove_prefix(5);
    path = std::filesystem::path(path).parent_path() / name;  // `name` itself if it is absolute
    whose += "Could not open backing file: ";
    const Result<UniqueFd> fd = TryToOpen(path, /*read_only=*/true);
    if (!fd.ok()) return Error(fd.error().code(), whose + fd.error().message());
  }
  return {};
}

// Why OpenDisk() failed, with the name of the path taken off: the caller says it.
Error Explain(const OpenOptions& options, int fd, const Error& error) {
  if (options.lock && !LockImage(fd, options.path, /*writer=*/!options.read_only).ok())
    return Invalid(std::string("Failed to get ") + (options.read_only ? "shared " : "") +
                   "\"write\" lock\nIs another process using the image [" + options.path + "]?");
  if (options.format == ImageFormat::kQcow2) {
    const Result<void> below = TryBelow(options.path);
    if (!below.ok()) return below.error();
  }
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
  ImagePlan plan = TRY(MakePlan(request));
  const OpenOptions& options = plan.options;
  const UniqueFd fd = TRY(TryToOpen(options.path, options.read_only));
  const bool guessed = TRY(SettleFormat(plan));
  Result<std::unique_ptr<BlockBackend>> backend = OpenDisk(options);
  if (!backend.ok()) return Explain(options, fd.get(), backend.error());
  if (guessed && options.format == ImageFormat::kRaw && !options.read_only)
    WarnOfGuess(options.path);
  std::unique_ptr<Disk> disk = TRY(Disk::Make(std::move(backend).value()));
  return OpenImage{request, options.path, *options.format, plan.discard, std::move(disk)};
}

}  // namespace skiff::io
