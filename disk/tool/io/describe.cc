#include "disk/posix_file.h"
#include "disk/qcow2/header.h"
#include "disk/tool/io/numbers.h"
#include "disk/tool/io/open_image.h"

namespace skiff::io {
namespace {

std::string Line(const std::string& name, const std::string& value) {
  return name + ": " + value + "\n";
}

std::string Sizes(uint64_t cluster_size, uint64_t vm_state_offset) {
  return Line("cluster size", FormatSize(static_cast<double>(cluster_size))) +
         Line("vm state offset", FormatSize(static_cast<double>(vm_state_offset)));
}

const char* TrueOrFalse(bool value) { return value ? "true" : "false"; }

std::string Specifics(const qcow2::Header& header) {
  const bool zlib = header.compression_type == qcow2::kCompressionZlib;
  const bool lazy = (header.compatible_features & qcow2::kCompatLazyRefcounts) != 0;
  const bool new_version = header.version >= 3;
  std::string text = "Format specific information:\n";
  text += Line("    compat", new_version ? "1.1" : "0.10");
  text += Line("    compression type", zlib ? "zlib" : "zstd");
  if (new_version) text += Line("    lazy refcounts", TrueOrFalse(lazy));
  text += Line("    refcount bits", std::to_string(header.geometry.refcount_bits()));
  if (!new_version) return text;
  text += Line("    corrupt", TrueOrFalse(header.Has(qcow2::kIncompatCorrupt)));
  return text + Line("    extended l2", TrueOrFalse(header.geometry.extended_l2()));
}

}  // namespace

Result<qcow2::Header> ReadHeader(const std::string& path) {
  PosixFileOptions options;
  options.read_only = true;
  options.lock = false;
  const std::unique_ptr<File> file = TRY(OpenHostFile(path, options));
  return qcow2::Header::Read(*file);
}

Result<std::string> Describe(const OpenImage& image) {
  const std::string name = Line("format name", std::string(NameOf(image.format)));
  if (image.format == ImageFormat::kRaw) return name + Sizes(0, 0);
  const qcow2::Header header = TRY(ReadHeader(image.path));
  // The VM state starts where the next L1 entry would map.
  const uint64_t per_table = header.geometry.bytes_per_l2();
  const uint64_t tables = header.size / per_table + (header.size % per_table != 0);
  return name + Sizes(header.geometry.cluster_size(), tables * per_table) + Specifics(header);
}

}  // namespace skiff::io
