#pragma once

#include "base/iovec_cursor.h"
#include "disk/image.h"

namespace skiff {

// Carries out block requests on an image with calls that wait for the disk. Thread-safe; the
// image must outlive it.
class BlockingExecutor {
 public:
  // `write_through`: writes are durable when they complete, as if each asked for it.
  BlockingExecutor(Image& image, bool write_through)
      : image_(image), write_through_(write_through) {}

  // Fails if the request breaks the image's limits; the others below want one that does not.
  Result<void> Check(const BlockRequest& request) const;

  Result<void> Perform(const BlockRequest& request);

  // True if the request could be done without waiting, and was. False: not done, perhaps in
  // part; Perform() does it and knows the error, if any.
  bool TryPerform(const BlockRequest& request);

 private:
  bool MustBeDurable(const BlockRequest& request) const {
    return write_through_ || request.force_unit_access;
  }

  Image& image_;
  const bool write_through_;
};

}  // namespace skiff
