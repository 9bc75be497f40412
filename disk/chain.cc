#include "disk/chain.h"

#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <string_view>
#include <vector>

#include "disk/qcow2/check/check.h"
#include "disk/qcow2/header.h"
#include "disk/qcow2/image.h"
#include "disk/raw/raw_image.h"

namespace skiff {
namespace {

constexpr size_t kMostFiles = 200;

struct HostFileId {
  dev_t device;
  ino_t inode;
  bool operator==(const HostFileId&) const = default;
};

// The names that a backing file may go by: plain paths, and QEMU's "file:" before one.
Result<std::string> PathOf(std::string_view overlay, std::string_view name) {
  if (name.starts_with("file:")) name.remove_prefix(5);
  const size_t colon = name.find(':');
  if (colon != std::string_view::npos && colon < name.find('/'))
    return Unsupported("the backing file '" + std::string(name) +
                       "' is not a file's name; only files of this host can be used");
  const std::filesystem::path path(name);
  if (path.is_absolute()) return std::string(name);
  return (std::filesystem::path(overlay).parent_path() / path).string();
}

struct Layer {
  std::string path;
  ImageFormat format;
  std::unique_ptr<File> file;
};

Result<HostFileId> IdOf(const std::string& path) {
  struct stat facts {};
  if (stat(path.c_str(), &facts) != 0) return Error::FromErrno(path + ": stat");
  return HostFileId{facts.st_dev, facts.st_ino};
}

Result<ImageFormat> FormatOf(const std::string& named, File& file) {
  if (named.empty()) return GuessFormat(file);
  const std::optional<ImageFormat> format = ParseImageFormat(named);
  if (!format) return Unsupported("its format '" + named + "' is neither raw nor qcow2");
  return *format;
}

// What the layer stands on; nullopt: nothing.
Result<std::optional<Layer>> LayerBelow(const Layer& layer, const PosixFileOptions& files) {
  if (layer.format != ImageFormat::kQcow2) return std::optional<Layer>();
  const qcow2::Header header = TRY(qcow2::Header::Read(*layer.file));
  if (header.backing_file.empty()) return std::optional<Layer>();
  const std::string path = TRY(PathOf(layer.path, header.backing_file));
  PosixFileOptions below = files;
  below.read_only = true;
  Result<std::unique_ptr<File>> opened = OpenHostFile(path, below);
  if (!opened.ok()) return std::move(opened).error().While("its backing file");
  std::unique_ptr<File> file = std::move(opened).value();
  Result<ImageFormat> format = FormatOf(header.backing_format, *file);
  if (!format.ok()) return std::move(format).error().While("backing file " + path);
  return std::optional(Layer{path, *format, std::move(file)});
}

Result<std::vector<Layer>> CollectLayers(Layer top, const PosixFileOptions& files) {
  std::vector<HostFileId> seen;
  std::vector<Layer> layers;
  std::optional<Layer> next = std::move(top);
  while (next) {
    const HostFileId id = TRY(IdOf(next->path));
    if (std::find(seen.begin(), seen.end(), id) != seen.end())
      return Invalid("the backing files form a loop: '" + next->path + "' stands on itself");
    if (layers.size() == kMostFiles)
      return Invalid("more than " + std::to_string(kMostFiles) + " files one over the other");
    seen.push_back(id);
    layers.push_back(std::move(*next));
    next = TRY(LayerBelow(layers.back(), files));
  }
  return layers;
}

Result<std::unique_ptr<Image>> OpenLayer(Layer layer, std::unique_ptr<Image> below,
                                         bool read_only) {
  std::unique_ptr<Image> image;
  if (layer.format == ImageFormat::kRaw) {
    image = TRY(RawImage::Open(std::move(layer.file)));
  } else {
    qcow2::Options options;
    options.read_only = read_only;
    if (!read_only) TRY(qcow2::RecoverImage(*layer.file));
    image = TRY(qcow2::Qcow2Image::Open(std::move(layer.file), std::move(below), options));
  }
  return image;
}

}  // namespace

Result<std::unique_ptr<Image>> OpenChain(const std::string& path, ImageFormat format,
                                         std::unique_ptr<File> file,
                                         const PosixFileOptions& files) {
  std::vector<Layer> layers = TRY(CollectLayers({path, format, std::move(file)}, files));
  std::unique_ptr<Image> image;
  while (!layers.empty()) {
    const std::string name = layers.back().path;
    const bool top = layers.size() == 1;
    Result<std::unique_ptr<Image>> above =
        OpenLayer(std::move(layers.back()), std::move(image), files.read_only || !top);
    layers.pop_back();
    if (!above.ok() && !top) return std::move(above).error().While("backing file " + name);
    image = TRY(std::move(above));
  }
  return image;
}

}  // namespace skiff
