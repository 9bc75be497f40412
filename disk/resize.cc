#include "disk/resize.h"

#include <algorithm>
#include <vector>

#include "base/arith.h"
#include "disk/engine/blocking_executor.h"

namespace skiff {
namespace {

// The rest of the unit that the disk ends in may hold anything, a part of the disk that was once
// cut off, say.
Result<void> ZeroTail(Image& image, uint64_t size) {
  const uint64_t end = image.limits().size;
  const uint64_t unit_end = std::min(size, AlignUp(end, image.clear_unit()));
  if (unit_end <= end) return {};
  std::vector<std::byte> zeroes(unit_end - end);
  const iovec buffer{zeroes.data(), zeroes.size()};
  BlockRequest request;
  request.op = BlockOp::kWrite;
  request.range = TRY(DiskRange::Make(DiskOffset(end), zeroes.size()));
  request.buffers = {&buffer, 1};
  BlockingExecutor executor(image, /*write_through=*/false);
  TRY(executor.Perform(request));
  return image.Flush();
}

}  // namespace

Result<void> ResizeDisk(Image& image, uint64_t size) {
  if (image.limits().read_only) return ReadOnly("the image is open read-only");
  TRY(ZeroTail(image, size));
  return image.Resize(size);
}

}  // namespace skiff
