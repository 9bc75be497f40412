#include "disk/qcow2/create.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <string_view>

#include "base/arith.h"
#include "disk/qcow2/entry.h"
#include "disk/qcow2/header.h"
#include "disk/qcow2/refcount_block.h"

namespace skiff::qcow2 {
namespace {

// Where everything is, in clusters. The header is cluster 0, the refcount table starts at 1.
struct Layout {
  uint64_t table_clusters = 1;
  uint64_t blocks = 1;
  uint64_t l1_entries = 0;
  uint64_t l1_clusters = 1;
  uint64_t l2_tables = 0;      // only if preallocated
  uint64_t data_clusters = 0;  // the same

  uint64_t first_block() const { return 1 + table_clusters; }
  uint64_t l1() const { return first_block() + blocks; }
  uint64_t first_l2() const { return l1() + l1_clusters; }
  uint64_t end() const { return first_l2() + l2_tables + data_clusters; }
};

Layout LayOut(const CreateOptions& options, const Geometry& geometry) {
  Layout layout;
  layout.l1_entries = DivideRoundingUp(options.size, geometry.bytes_per_l2());
  layout.l1_clusters =
      std::max<uint64_t>(1, geometry.ClustersFor(layout.l1_entries * sizeof(Be64)));
  if (options.preallocation != Preallocation::kOff) {
    layout.l2_tables = layout.l1_entries;
    layout.data_clusters = geometry.ClustersFor(options.size);
  }
  // Blocks count themselves and the table, which may take further ones.
  for (;;) {
    const uint64_t blocks = DivideRoundingUp(layout.end(), geometry.refcounts_per_block());
    const uint64_t table = geometry.ClustersFor(blocks * sizeof(Be64));
    if (blocks <= layout.blocks && table <= layout.table_clusters) return layout;
    layout.blocks = std::max(layout.blocks, blocks);
    layout.table_clusters = std::max(layout.table_clusters, table);
  }
}

Result<void> CheckVersion(const CreateOptions& options) {
  if (options.version == 3) return {};
  if (options.version != 2) return Unsupported("unsupported qcow2 version");
  if (options.refcount_order != 4)
    return Unsupported(
        "Different refcount widths than 16 bits require compatibility level 1.1 or above (use "
        "version=v3 or greater)");
  if (options.lazy_refcounts)
    return Unsupported(
        "Lazy refcounts only supported with compatibility level 1.1 and above (use version=v3 or "
        "greater)");
  if (options.extended_l2)
    return Unsupported(
        "Extended L2 entries are only supported with compatibility level 1.1 and above (use "
        "version=v3 or greater)");
  if (options.compression_type != kCompressionZlib)
    return Unsupported(
        "Non-zlib compression type is only supported with compatibility level 1.1 and above (use "
        "version=v3 or greater)");
  return {};
}

// Buffers entries of a table that is written front to back.
class Stream {
 public:
  Stream(File& file, FileOffset at) : file_(file), at_(at) { buffer_.reserve(kPiece); }

  Result<void> Put(uint64_t entry) {
    buffer_.emplace_back(entry);
    return buffer_.size() < kPiece ? Result<void>() : Flush();
  }
  Result<void> Flush() {
    const auto bytes = std::as_bytes(std::span(buffer_));
    TRY(WriteBytes(file_, at_, bytes));
    at_ = at_ + bytes.size();
    buffer_.clear();
    return {};
  }

 private:
  static constexpr size_t kPiece = 128 * kKiB;  // entries
  File& file_;
  FileOffset at_;
  std::vector<Be64> buffer_;
};

class Creation {
 public:
  Creation(File& file, const CreateOptions& options, const Geometry& geometry)
      : file_(file), options_(options), geometry_(geometry), layout_(LayOut(options, geometry)) {}

  Result<void> Run() {
    const Header header = MakeHeader();
    const std::vector<std::byte> first_cluster = TRY(header.Serialize());
    if (uint64_t{header.refcount_table_clusters} << geometry_.cluster_bits() >
        kMaxRefcountTableBytes)
      return OutOfRange("the image is too large for its reference count table");
    TRY(Clear());
    TRY(WriteCounts());
    if (layout_.l2_tables != 0) TRY(WriteL1());
    for (uint64_t n = 0; n < layout_.l2_tables; ++n) TRY(WriteL2(n));
    return WriteBytes(file_, FileOffset(0), first_cluster);
  }

 private:
  FileOffset OffsetOf(uint64_t cluster) const {
    return FileOffset(cluster << geometry_.cluster_bits());
  }
  uint64_t PerL2() const { return geometry_.l2_entries(); }
  // Tables are followed by their clusters; all but the last have the same number.
  uint64_t L2Cluster(uint64_t index) const { return layout_.first_l2() + index * (1 + PerL2()); }

  Header MakeHeader() const;

  // All reads as zeroes afterwards, and the file has its length.
  Result<void> Clear() {
    const uint64_t length = layout_.end() << geometry_.cluster_bits();
    if (file_.facts().fixed_size) {
      if (length > file_.size())
        return Error(ErrorCode::kNoSpace, "the device is smaller than the image's tables");
      return file_.Zero(TRY(FileRange::Make(FileOffset(0), length)), /*may_unmap=*/true);
    }
    TRY(file_.Resize(0));
    TRY(file_.Resize(length));
    // The room of the data; the tables are written anyway.
    const FileRange data = TRY(FileRange::Make(OffsetOf(layout_.first_l2()),
                                               length - OffsetOf(layout_.first_l2()).value()));
    if (options_.preallocation == Preallocation::kFalloc)
      return file_.Zero(data, /*may_unmap=*/false);
    if (options_.preallocation == Preallocation::kFull) return Fill(data);
    return {};
  }

  Result<void> Fill(FileRange range) {
    const std::vector<std::byte> zeroes(std::min<uint64_t>(range.length(), 4 * kMiB));
    for (; !range.empty(); range = range.Suffix(zeroes.size())) {
      const FileRange piece = range.Prefix(zeroes.size());
      TRY(WriteBytes(file_, piece.start(), std::span(zeroes).first(piece.length())));
    }
    return {};
  }

  Result<void> WriteCounts() {
    Stream table(file_, OffsetOf(1));
    for (uint64_t n = 0; n < layout_.blocks; ++n)
      TRY(table.Put(OffsetOf(layout_.first_block() + n).value()));
    TRY(table.Flush());
    std::vector<std::byte> block(geometry_.cluster_size());
    const uint64_t per_block = geometry_.refcounts_per_block();
    uint64_t counted = 0;  // in `block`
    for (uint64_t n = 0; n < layout_.blocks; ++n) {
      const uint64_t first = n * per_block;
      const uint64_t used = std::min(per_block, layout_.end() - std::min(first, layout_.end()));
      for (; counted < used; ++counted)
        SetRefcountAt(block, geometry_.refcount_order(), counted, 1);
      for (; counted > used; --counted)
        SetRefcountAt(block, geometry_.refcount_order(), counted - 1, 0);
      TRY(WriteBytes(file_, OffsetOf(layout_.first_block() + n), block));
    }
    return {};
  }

  Result<void> WriteL1() {
    Stream l1(file_, OffsetOf(layout_.l1()));
    for (uint64_t n = 0; n < layout_.l2_tables; ++n)
      TRY(l1.Put(OffsetOf(L2Cluster(n)).value() | kCopied));
    return l1.Flush();
  }

  Result<void> WriteL2(uint64_t index) {
    const uint64_t clusters = std::min(PerL2(), layout_.data_clusters - index * PerL2());
    // Over a backing file the clusters are there and none of their subclusters is.
    const Be64 bitmap(options_.backing_file.empty() ? UINT32_MAX : 0);
    const size_t step = geometry_.l2_entry_size() / sizeof(Be64);
    l2_.resize(clusters * step);
    uint64_t host = OffsetOf(L2Cluster(index)).value();
    for (size_t n = 0; n < l2_.size(); n += step) {
      host += geometry_.cluster_size();
      l2_[n] = host | kCopied;
      if (step == 2) l2_[n + 1] = bitmap;
    }
    return WriteBytes(file_, OffsetOf(L2Cluster(index)), std::as_bytes(std::span(l2_)));
  }

  File& file_;
  const CreateOptions& options_;
  const Geometry geometry_;
  const Layout layout_;
  std::vector<Be64> l2_;
};

// The names that QEMU 7.2 gives, so that other programs say the same.
std::vector<std::byte> FeatureNames() {
  struct Name {
    uint8_t type;
    uint8_t bit;
    std::string_view text;
  };
  constexpr std::array<Name, 8> kNames = {{{0, 0, "dirty bit"},
                                           {0, 1, "corrupt bit"},
                                           {0, 2, "external data file"},
                                           {0, 3, "compression type"},
                                           {0, 4, "extended L2 entries"},
                                           {1, 0, "lazy refcounts"},
                                           {2, 0, "bitmaps"},
                                           {2, 1, "raw external data"}}};
  std::vector<std::byte> bytes;
  for (const Name& name : kNames) {
    FeatureName entry{};
    entry.type = std::byte{name.type};
    entry.bit = std::byte{name.bit};
    std::memcpy(entry.name, name.text.data(), name.text.size());
    const auto raw = std::as_bytes(std::span(&entry, 1));
    bytes.insert(bytes.end(), raw.begin(), raw.end());
  }
  return bytes;
}

Header Creation::MakeHeader() const {
  Header header(geometry_);
  header.version = options_.version;
  header.size = options_.size;
  header.l1_size = static_cast<uint32_t>(layout_.l1_entries);
  header.l1_table_offset = OffsetOf(layout_.l1());
  header.refcount_table_offset = OffsetOf(1);
  header.refcount_table_clusters = static_cast<uint32_t>(layout_.table_clusters);
  header.backing_file = options_.backing_file;
  header.backing_format = options_.backing_format;
  if (options_.version < 3) return header;
  header.compression_type = options_.compression_type;
  if (options_.compression_type != kCompressionZlib)
    header.incompatible_features |= kIncompatCompressionType;
  if (options_.extended_l2) header.incompatible_features |= kIncompatExtendedL2;
  if (options_.lazy_refcounts) header.compatible_features |= kCompatLazyRefcounts;
  // The compression type and its padding.
  header.header_length = sizeof(HeaderV3) + 8;
  header.later_fields.resize(8);
  // A mere convenience: with the smallest clusters the room is for the backing file's name.
  if (options_.cluster_bits > kMinClusterBits)
    header.extensions.push_back({kExtensionFeatureNames, FeatureNames()});
  return header;
}

}  // namespace

Result<Geometry> CheckCreateOptions(const CreateOptions& options) {
  if (options.cluster_bits < kMinClusterBits || options.cluster_bits > kMaxClusterBits)
    return Invalid("Cluster size must be a power of two between 512 and 2048k");
  if (options.refcount_order > 6)
    return Invalid("Refcount width must be a power of two and may not exceed 64 bits");
  TRY(CheckVersion(options));
  if (options.extended_l2 && options.cluster_bits < kMinExtendedClusterBits)
    return Invalid(
        "Extended L2 entries are only supported with cluster sizes of at least 16384 bytes");
  if (options.size % 512 != 0) return Invalid("Image size must be a multiple of 512 bytes");
  if (!options.backing_file.empty() && options.preallocation != Preallocation::kOff &&
      !options.extended_l2)
    return Invalid(
        "Backing file and preallocation can only be used at the same time if extended_l2 is "
        "enabled");
  if (options.backing_file.size() > kMaxBackingNameBytes)
    return Invalid("Backing file name too long (" + std::to_string(options.backing_file.size()) +
                   " > " + std::to_string(kMaxBackingNameBytes) + ")");
  const Geometry geometry =
      TRY(Geometry::Make(options.cluster_bits, options.refcount_order, options.extended_l2));
  if (DivideRoundingUp(options.size, geometry.bytes_per_l2()) * sizeof(Be64) > kMaxL1Bytes)
    return OutOfRange("Image is too big for the cluster size; use a larger one");
  return geometry;
}

Result<void> CreateImage(File& file, const CreateOptions& options) {
  const Geometry geometry = TRY(CheckCreateOptions(options));
  return Creation(file, options, geometry).Run();
}

}  // namespace skiff::qcow2
