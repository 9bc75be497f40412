#pragma once

#include <cstdint>
#include <string>

#include "disk/file.h"
#include "disk/qcow2/format.h"
#include "disk/qcow2/geometry.h"

namespace skiff::qcow2 {

// qemu-img create -o preallocation=
enum class Preallocation : uint8_t {
  kOff,
  kMetadata,  // all tables are there; the file is as long as the disk, and sparse
  kFalloc,    // and the host has reserved the room
  kFull,      // and every byte was written
};

// qemu-img create -o; the defaults are QEMU 7.2's.
struct CreateOptions {
  uint64_t size = 0;  // of the disk, bytes; a multiple of 512
  uint32_t version = 3;
  uint32_t cluster_bits = 16;
  uint32_t refcount_order = 4;
  bool extended_l2 = false;
  bool lazy_refcounts = false;
  uint8_t compression_type = kCompressionZlib;
  std::string backing_file;    // as it goes into the header; empty: none
  std::string backing_format;  // empty: not said
  Preallocation preallocation = Preallocation::kOff;
};

// Makes `file`, whatever it holds, an empty image. The header is written last: until then it is no
// image. kUnsupported or kInvalid, in QEMU's words, if the options contradict each other; kNoSpace
// if the file can't take it.
//
// Laid out as QEMU does it: header, refcount table, refcount blocks, L1 table; preallocated, each
// L2 table is followed by its clusters.
Result<void> CreateImage(File& file, const CreateOptions& options);

// As CreateImage() checks them first.
Result<Geometry> CheckCreateOptions(const CreateOptions& options);

}  // namespace skiff::qcow2
