#include "disk/qcow2/header.h"

#include <algorithm>
#include <cstring>
#include <string_view>

#include "base/arith.h"
#include "disk/qcow2/header_extensions.h"

namespace skiff::qcow2 {
namespace {

constexpr uint64_t kMaxOffset = uint64_t{1} << 56;  // what table entries can name

template <typename T>
T Load(std::span<const std::byte> bytes, size_t offset = 0) {
  T value;
  std::memcpy(&value, bytes.data() + offset, sizeof(value));
  return value;
}

std::string Number(uint64_t value) { return std::to_string(value); }

Result<void> CheckVersion(const HeaderV2& v2) {
  if (v2.magic != kMagic) return Invalid("not a qcow2 image: the magic number is missing");
  if (v2.version != 2 && v2.version != 3)
    return Unsupported("unsupported qcow2 version " + Number(v2.version));
  return {};
}

Result<void> CheckCluster(uint32_t cluster_bits) {
  if (cluster_bits >= kMinClusterBits && cluster_bits <= kMaxClusterBits) return {};
  return Unsupported("unsupported cluster size: 2^" + Number(cluster_bits));
}

// A table: at a cluster's start, not over the header, and ending where offsets end. No table at
// all is right if it has no bytes.
Result<void> CheckTable(const Header& header, FileOffset at, uint64_t bytes,
                        std::string_view name) {
  if (bytes == 0) return {};
  if (!header.geometry.IsAligned(at))
    return Corrupt(std::string(name) + " offset " + Number(at.value()) + " is not a cluster's");
  if (at.value() == 0) return Corrupt(std::string(name) + " overlaps the header");
  if (at.value() > kMaxOffset - bytes)
    return Corrupt(std::string(name) + " at " + Number(at.value()) + " is out of range");
  return {};
}

Result<void> CheckTables(const Header& header) {
  const uint64_t l1_bytes = uint64_t{header.l1_size} * sizeof(Be64);
  if (l1_bytes > kMaxL1Bytes) return Corrupt("active L1 table too large");
  TRY(CheckTable(header, header.l1_table_offset, l1_bytes, "active L1 table"));
  const auto refcount_bytes =
      CheckedMultiply(header.refcount_table_clusters, header.geometry.cluster_size());
  if (!refcount_bytes || *refcount_bytes > kMaxRefcountTableBytes)
    return Corrupt("reference count table too large");
  if (*refcount_bytes == 0) return Corrupt("image does not contain a reference count table");
  TRY(CheckTable(header, header.refcount_table_offset, *refcount_bytes, "reference count table"));
  if (header.nb_snapshots > kMaxSnapshots) return Corrupt("snapshot table too large");
  const uint64_t snapshot_bytes = header.nb_snapshots * sizeof(SnapshotHeader);
  return CheckTable(header, header.snapshots_offset, snapshot_bytes, "snapshot table");
}

// The disk's size fits what L1 and L2 tables can map.
Result<void> CheckSize(const Header& header) {
  const Geometry& geometry = header.geometry;
  const uint64_t l1_needed = DivideRoundingUp(header.size, geometry.bytes_per_l2());
  if (l1_needed * sizeof(Be64) > kMaxL1Bytes) return Corrupt("image is too big");
  if (header.l1_size < l1_needed) return Corrupt("L1 table is too small");
  return {};
}

Result<void> CheckCrypt(uint32_t method) {
  switch (method) {
    case kCryptNone:
      return {};
    case kCryptAes:
      return Unsupported("the image is encrypted (AES), which skiff cannot read");
    case kCryptLuks:
      return Unsupported("the image is encrypted (LUKS), which skiff cannot read");
    default:
      return Unsupported("unsupported encryption method " + Number(method));
  }
}

Result<void> ParseV3(std::span<const std::byte> start, Header& header) {
  if (start.size() < sizeof(HeaderV3)) return Corrupt("the header is cut short");
  const auto v3 = Load<HeaderV3>(start);
  header.incompatible_features = v3.incompatible_features;
  header.compatible_features = v3.compatible_features;
  header.autoclear_features = v3.autoclear_features;
  header.header_length = v3.header_length;
  const uint64_t cluster_size = uint64_t{1} << v3.v2.cluster_bits;
  if (header.header_length < sizeof(HeaderV3)) return Corrupt("qcow2 header too short");
  if (header.header_length > std::min<uint64_t>(cluster_size, start.size()))
    return Corrupt("qcow2 header exceeds cluster size");
  if (header.header_length % 8 != 0) return Corrupt("the header's length is no multiple of 8");
  const auto later = start.subspan(sizeof(HeaderV3), header.header_length - sizeof(HeaderV3));
  header.later_fields.assign(later.begin(), later.end());
  if (!later.empty()) header.compression_type = static_cast<uint8_t>(later[0]);
  return {};
}

Result<void> CheckCompression(const Header& header) {
  if (header.compression_type > kCompressionZstd)
    return Unsupported("unknown compression type: " + Number(header.compression_type));
  const bool flagged = header.Has(kIncompatCompressionType);
  if (flagged != (header.compression_type != kCompressionZlib))
    return Corrupt("compression type " + Number(header.compression_type) +
                   " contradicts the compression type bit");
  return {};
}

Result<void> ParseBackingName(std::span<const std::byte> start, const HeaderV2& v2,
                              Header& header) {
  const uint64_t at = v2.backing_file_offset;
  const uint32_t length = v2.backing_file_size;
  if (at == 0) return {};
  const uint64_t room = std::min<uint64_t>(header.geometry.cluster_size(), start.size());
  if (at > room || length > room - at) return Corrupt("invalid backing file offset");
  if (length > kMaxBackingNameBytes) return Corrupt("backing file name too long");
  header.backing_file.assign(reinterpret_cast<const char*>(start.data()) + at, length);
  return {};
}

void FillV2(const HeaderV2& v2, Header& header) {
  header.version = v2.version;
  header.size = v2.size;
  header.crypt_method = v2.crypt_method;
  header.l1_size = v2.l1_size;
  header.l1_table_offset = FileOffset(v2.l1_table_offset);
  header.refcount_table_offset = FileOffset(v2.refcount_table_offset);
  header.refcount_table_clusters = v2.refcount_table_clusters;
  header.nb_snapshots = v2.nb_snapshots;
  header.snapshots_offset = FileOffset(v2.snapshots_offset);
  header.header_length = sizeof(HeaderV2);
}

HeaderV2 V2Of(const Header& header, uint64_t backing_offset) {
  HeaderV2 v2;
  v2.magic = kMagic;
  v2.version = header.version;
  v2.backing_file_offset = backing_offset;
  v2.backing_file_size = static_cast<uint32_t>(header.backing_file.size());
  v2.cluster_bits = header.geometry.cluster_bits();
  v2.size = header.size;
  v2.crypt_method = header.crypt_method;
  v2.l1_size = header.l1_size;
  v2.l1_table_offset = header.l1_table_offset.value();
  v2.refcount_table_offset = header.refcount_table_offset.value();
  v2.refcount_table_clusters = header.refcount_table_clusters;
  v2.nb_snapshots = header.nb_snapshots;
  v2.snapshots_offset = header.snapshots_offset.value();
  return v2;
}

template <typename T>
void Put(std::vector<std::byte>& bytes, size_t at, const T& value) {
  std::memcpy(bytes.data() + at, &value, sizeof(value));
}

}  // namespace

Result<Header> Header::Parse(std::span<const std::byte> start) {
  if (start.size() < sizeof(HeaderV2)) return Invalid("not a qcow2 image: it is too short");
  const auto v2 = Load<HeaderV2>(start);
  TRY(CheckVersion(v2));
  TRY(CheckCluster(v2.cluster_bits));
  const bool v3 = v2.version >= 3;
  if (v3 && start.size() < sizeof(HeaderV3)) return Corrupt("the header is cut short");
  const uint32_t order = v3 ? uint32_t{Load<HeaderV3>(start).refcount_order} : 4;
  const uint64_t features = v3 ? uint64_t{Load<HeaderV3>(start).incompatible_features} : 0;
  const bool extended = (features & kIncompatExtendedL2) != 0;
  // Unknown features first: they may change what the other fields mean.
  Header probe(TRY(Geometry::Make(v2.cluster_bits, std::min(order, 6u), /*extended_l2=*/false)));
  FillV2(v2, probe);
  if (v3) TRY(ParseV3(start, probe));
  TRY(ParseExtensions(start, v2.backing_file_offset, probe));
  TRY(CheckFeatures(probe));

  Header header(TRY(Geometry::Make(v2.cluster_bits, order, extended)));
  const Geometry geometry = header.geometry;
  header = std::move(probe);
  header.geometry = geometry;
  TRY(CheckCrypt(header.crypt_method));
  TRY(CheckCompression(header));
  TRY(CheckTables(header));
  TRY(CheckSize(header));
  TRY(ParseBackingName(start, v2, header));
  return header;
}

Result<Header> Header::Read(File& file) {
  constexpr uint64_t kEnough = 64 * 1024;  // for nearly all; then the rest of a larger cluster
  std::vector<std::byte> start(std::min(file.size(), kEnough));
  TRY(ReadBytes(file, FileOffset(0), start));
  if (start.size() == kEnough) {
    const auto v2 = ::skiff::qcow2::Load<HeaderV2>(start);
    const bool large = v2.magic == kMagic && v2.cluster_bits > 16;
    const uint64_t wanted = uint64_t{1} << std::min<uint32_t>(v2.cluster_bits, kMaxClusterBits);
    if (large && file.size() > kEnough) {
      start.resize(std::min(file.size(), wanted));
      TRY(ReadBytes(file, FileOffset(kEnough), std::span(start).subspan(kEnough)));
    }
  }
  return Parse(start);
}

Result<std::vector<std::byte>> Header::Serialize() const {
  std::vector<std::byte> bytes(geometry.cluster_size());
  const size_t length =
      version >= 3 ? std::max<size_t>(header_length, sizeof(HeaderV3)) : sizeof(HeaderV2);
  const std::vector<std::byte> encoded = EncodeExtensions(*this);
  const size_t name_at = length + encoded.size();
  if (name_at + backing_file.size() > bytes.size())
    return Error(ErrorCode::kNoSpace, "the header does not fit into a cluster");
  std::copy(encoded.begin(), encoded.end(), bytes.begin() + static_cast<ptrdiff_t>(length));
  std::memcpy(bytes.data() + name_at, backing_file.data(), backing_file.size());
  HeaderV3 v3;
  v3.v2 = V2Of(*this, backing_file.empty() ? 0 : name_at);
  if (version < 3) {
    Put(bytes, 0, v3.v2);
    return bytes;
  }
  v3.incompatible_features = incompatible_features;
  v3.compatible_features = compatible_features;
  v3.autoclear_features = autoclear_features;
  v3.refcount_order = geometry.refcount_order();
  v3.header_length = static_cast<uint32_t>(length);
  Put(bytes, 0, v3);
  std::copy(later_fields.begin(), later_fields.end(), bytes.begin() + sizeof(HeaderV3));
  if (length > kCompressionTypeOffset) bytes[kCompressionTypeOffset] = std::byte{compression_type};
  return bytes;
}

const Extension* Header::Find(uint32_t type) const {
  const auto found = std::find_if(extensions.begin(), extensions.end(),
                                  [&](const Extension& one) { return one.type == type; });
  return found == extensions.end() ? nullptr : &*found;
}

}  // namespace skiff::qcow2
