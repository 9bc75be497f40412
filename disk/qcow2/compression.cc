#include "disk/qcow2/compression.h"

#include <libdeflate.h>
#include <zlib.h>
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

std::optional<size_t> Deflate(std::span<const std::byte> cluster, std::span<std::byte> out) {
  // QEMU inflates with a window of 4 KiB.
  constexpr int kWindowBits = -12;
  constexpr int kMemoryLevel = 9;
  z_stream stream{};
  if (deflateInit2(&stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED, kWindowBits, kMemoryLevel,
                   Z_DEFAULT_STRATEGY) != Z_OK)
    return std::nullopt;
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<std::byte*>(cluster.data()));
  stream.avail_in = static_cast<uInt>(cluster.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  const bool whole = deflate(&stream, Z_FINISH) == Z_STREAM_END;
  const size_t length = out.size() - stream.avail_out;
  deflateEnd(&stream);
  return whole ? std::optional(length) : std::nullopt;
}

std::optional<size_t> EncodeZstd(std::span<const std::byte> cluster, std::span<std::byte> out) {
  const size_t length =
      ZSTD_compress(out.data(), out.size(), cluster.data(), cluster.size(), ZSTD_CLEVEL_DEFAULT);
  return ZSTD_isError(length) == 0 ? std::optional(length) : std::nullopt;
}

}  // namespace

Result<void> Decompress(uint8_t type, std::span<const std::byte> encoded,
                        std::span<std::byte> cluster) {
  return type == kCompressionZstd ? DecodeZstd(encoded, cluster) : Inflate(encoded, cluster);
}

std::optional<std::vector<std::byte>> Compress(uint8_t type, std::span<const std::byte> cluster) {
  std::vector<std::byte> out(cluster.size() - 1);
  const std::optional<size_t> length =
      type == kCompressionZstd ? EncodeZstd(cluster, out) : Deflate(cluster, out);
  if (!length) return std::nullopt;
  out.resize(*length);
  return out;
}

}  // namespace skiff::qcow2
