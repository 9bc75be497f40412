#include "disk/qcow2/compression.h"

#include <libdeflate.h>
#include <zstd.h>

#include <memory>

#include "disk/qcow2/format.h"

namespace skiff::qcow2 {
namespace {

struct Free {
  void operator()(libdeflate_decompressor* d) const { libdeflate_free_decompressor(d); }
  void operator()(ZSTD_DCtx* d) const { ZSTD_freeDCtx(d); }
};

Error Damaged() { return Corrupt("a compressed cluster cannot be decompressed"); }

// Raw deflate data.
Result<void> Inflate(std::span<const std::byte> encoded, std::span<std::byte> cluster) {
  // Each thread keeps one: making it takes longer than decoding a small cluster.
  thread_local const std::unique_ptr<libdeflate_decompressor, Free> decompressor(
      libdeflate_alloc_decompressor());
  if (decompressor == nullptr) return Error::FromErrno("allocating a decompressor", ENOMEM);
  size_t used = 0;
  size_t made = 0;
  const libdeflate_result result =
      libdeflate_deflate_decompress_ex(decompressor.get(), encoded.data(), encoded.size(),
                                       cluster.data(), cluster.size(), &used, &made);
  return result == LIBDEFLATE_SUCCESS && made == cluster.size() ? Result<void>() : Damaged();
}

Result<void> DecodeZstd(std::span<const std::byte> encoded, std::span<std::byte> cluster) {
  thread_local const std::unique_ptr<ZSTD_DCtx, Free> context(ZSTD_createDCtx());
  if (context == nullptr) return Error::FromErrno("allocating a decompressor", ENOMEM);
  ZSTD_DCtx_reset(context.get(), ZSTD_reset_session_only);
  ZSTD_inBuffer in{encoded.data(), encoded.size(), 0};
  ZSTD_outBuffer out{cluster.data(), cluster.size(), 0};
  // Not in one call: what follows the frame is not ours to judge.
  while (out.pos < out.size) {
    const size_t before = in.pos + out.pos;
    const size_t left = ZSTD_decompressStream(context.get(), &out, &in);
    if (ZSTD_isError(left) != 0) return Damaged();
    if (in.pos + out.pos == before) return Damaged();  // the frame ended, or its bytes did
  }
  return {};
}

}  // namespace

Result<void> Decompress(uint8_t type, std::span<const std::byte> encoded,
                        std::span<std::byte> cluster) {
  return type == kCompressionZstd ? DecodeZstd(encoded, cluster) : Inflate(encoded, cluster);
}

}  // namespace skiff::qcow2
