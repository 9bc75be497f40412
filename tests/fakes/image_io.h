#pragma once

#include <span>

#include "disk/engine/blocking_executor.h"

namespace skiff::fakes {

// One request to an image, carried out by the calling thread. `bytes` are read, written, or empty.
inline Result<void> Perform(Image& image, BlockOp op, uint64_t at, uint64_t length,
                            std::span<std::byte> bytes, bool may_unmap = false) {
  const iovec buffer{bytes.data(), bytes.size()};
  BlockRequest request;
  request.op = op;
  request.range = DiskRange::Make(DiskOffset(at), length).value();
  request.buffers = {&buffer, 1};
  request.may_unmap = may_unmap;
  BlockingExecutor executor(image, /*write_through=*/false);
  TRY(executor.Check(request));
  // As a queue does: what memory can answer is done at once.
  if (executor.TryPerform(request)) return {};
  return executor.Perform(request);
}

}  // namespace skiff::fakes
