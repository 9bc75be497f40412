#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <variant>
#include <vector>

#include "base/result.h"
#include "disk/block.h"
#include "disk/file.h"
#include "disk/static_vector.h"

namespace skiff {

// How to obtain some bytes of the disk. A format answers in these terms and an engine carries them
// out: formats never move guest data, engines never parse metadata.
struct ReadFile {  // from this image's data file
  FileRange source;
};
struct ReadZeroes {
  uint64_t length;
};
struct ReadBelow {  // from the backing image; what lies past its end reads as zeroes
  DiskRange range;
};
struct ReadEncoded {  // from a cluster that is stored compressed: Image::Decode() knows it
  FileRange source;
  uint64_t offset;  // of the wanted bytes in the decoded cluster
  uint64_t length;
};
using ReadStep = std::variant<ReadFile, ReadZeroes, ReadBelow, ReadEncoded>;

uint64_t LengthOf(const ReadStep& step);

// Plans hold their steps in place: making one takes no memory from the heap. What does not fit
// into one plan takes another.
inline constexpr size_t kStepsPerPlan = 8;

// Steps in disk order for a prefix of what was asked for, and the lease that keeps them true: no
// cluster they name is given to anyone else while the plan lives.
struct ReadPlan {
  uint64_t covers = 0;  // bytes: the steps' total, more than 0
  StaticVector<ReadStep, kStepsPerPlan> steps;
  std::shared_ptr<const void> lease;
};

// Clusters on their way into the disk: allocated, but linked nowhere yet. Dropped before Commit()
// has succeeded, they return to the allocator and the disk is as it was.
class PendingLink {
 public:
  virtual ~PendingLink() = default;
  virtual Result<void> Commit() = 0;  // called at most once
};

// Bytes to copy for a write that covers a newly allocated cluster only in part.
struct FillStep {
  ReadStep source;
  FileOffset target;
};

// How to write a prefix of a range: first the fills and the payload, in any order, then Commit().
struct WritePlan {
  uint64_t covers = 0;                             // bytes: the payload's total, more than 0
  StaticVector<FileRange, kStepsPerPlan> payload;  // where the guest's bytes go, in disk order
  std::vector<FillStep> fills;                     // none where clusters are in place already
  std::shared_ptr<const void> lease;
  std::unique_ptr<PendingLink> link;  // null if the clusters are in place already

  Result<void> Commit() { return link != nullptr ? link->Commit() : Result<void>(); }
};

// A disk format: the map from disk offsets to file offsets. Thread-safe. Ranges are not empty and
// lie inside the disk. Calls may read or write metadata and so may block; an engine that must not
// block asks the Try calls first and sends the rest to a pool thread.
class Image {
 public:
  virtual ~Image() = default;
  virtual const BlockLimits& limits() const = 0;
  virtual File& data_file() = 0;  // what plans refer to
  virtual Image* below() = 0;     // the backing image; null at the bottom

  virtual Result<ReadPlan> MapRead(DiskRange range) = 0;
  virtual std::optional<ReadPlan> TryMapRead(DiskRange range) = 0;  // from memory only
  virtual Result<WritePlan> PrepareWrite(DiskRange range) = 0;
  // nullopt unless the clusters are already allocated, unshared and known in memory; such a plan
  // has no fills and no link.
  virtual std::optional<WritePlan> TryPrepareWrite(DiskRange range) = 0;

  // The whole content of a compressed cluster that a plan names, while its lease lives.
  virtual Result<std::shared_ptr<const std::vector<std::byte>>> Decode(const ReadEncoded& step);

  // Discard() and WriteZeroes() take ranges of whole units (bytes; a power of two), except that one
  // may end with the disk. kUnsupported from WriteZeroes(): zeroes must be written there.
  virtual uint64_t clear_unit() const { return 1; }
  virtual Result<void> Discard(DiskRange range) = 0;
  virtual Result<void> WriteZeroes(DiskRange range, bool may_unmap) = 0;
  virtual Result<void> Flush() = 0;
  // Flushes and leaves the file tidy; once, when no request is in flight and no plan alive. Without
  // it the image is as after a crash: nothing flushed is lost.
  virtual Result<void> Close() { return limits().read_only ? Result<void>() : Flush(); }
  virtual Result<BlockStatus> Status(DiskRange range) = 0;

  // Gives the disk another size (bytes, a multiple of 512). No request is in flight, and the image
  // must be opened anew afterwards. What is added reads as zeroes, except for the rest of the
  // clear_unit() that the old end is in: zero that before.
  virtual Result<void> Resize(uint64_t size);
};

}  // namespace skiff
