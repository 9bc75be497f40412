#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "disk/file.h"
#include "disk/qcow2/geometry.h"

namespace skiff::qcow2 {

// A header extension that we keep as it is.
struct Extension {
  uint32_t type;
  std::vector<std::byte> data;
};

// The header and its extensions in host order, validated: whoever holds one that Parse() made
// need not check offsets and sizes again. qcow2, "Header" and "Header extensions".
struct Header {
  uint32_t version = 3;
  Geometry geometry;
  uint64_t size = 0;  // of the disk, bytes
  uint32_t crypt_method = kCryptNone;
  uint32_t l1_size = 0;  // entries
  FileOffset l1_table_offset;
  FileOffset refcount_table_offset;
  uint32_t refcount_table_clusters = 0;
  uint32_t nb_snapshots = 0;
  FileOffset snapshots_offset;
  uint64_t incompatible_features = 0;
  uint64_t compatible_features = 0;
  uint64_t autoclear_features = 0;
  uint32_t header_length = 104;
  uint8_t compression_type = kCompressionZlib;
  std::vector<std::byte> later_fields;  // of header_length bytes, those that we do not know

  std::string backing_file;    // empty: none
  std::string backing_format;  // empty: not said
  std::string data_file;       // name of the external data file; empty: not said
  // In the order of the file: all extensions but the backing format, among them those that we do
  // not know. Serialize() writes them back.
  std::vector<Extension> extensions;
  uint64_t extensions_end = 0;  // offset in the file of the end mark

  explicit Header(const Geometry& g) : geometry(g) {}

  // `start`: the file's first bytes, at least the first cluster or all that the file has. Errors
  // are in words and name the field: kInvalid if it is no qcow2 image, kUnsupported if it needs
  // what we lack (by the name that the feature name table gives), kCorrupt if it makes no sense.
  // Images with the dirty or the corrupt bit pass; whether they may be written is the caller's.
  static Result<Header> Parse(std::span<const std::byte> start);
  // Reads what Parse() needs and calls it.
  static Result<Header> Read(File& file);

  // The first cluster's bytes, zeroes to its end; kNoSpace if names and extensions do not fit.
  Result<std::vector<std::byte>> Serialize() const;

  bool Has(uint64_t incompatible) const { return (incompatible_features & incompatible) != 0; }
  const Extension* Find(uint32_t type) const;
};

}  // namespace skiff::qcow2
