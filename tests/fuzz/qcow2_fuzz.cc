#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <vector>

#include "disk/engine/blocking_executor.h"
#include "disk/qcow2/image.h"
#include "tests/fakes/forwarding_file.h"
#include "tests/fakes/memory_file.h"

// A qcow2 file of any content is opened or refused; then it is read, written, cleared, flushed and
// closed as the first bytes say. The rest is the file. Nothing may crash, hang or take much memory.
namespace skiff::qcow2 {
namespace {

constexpr size_t kScriptBytes = 32;
constexpr uint64_t kRoom = 8 * kMiB;  // of the host's disk

// What an image claims to be large cannot make the host's disk larger.
class SmallHost final : public fakes::ForwardingFile {
 public:
  using ForwardingFile::ForwardingFile;

  Result<void> WriteAt(FileOffset at, std::span<const iovec> buffers) override {
    uint64_t length = 0;
    for (const iovec& buffer : buffers) length += buffer.iov_len;
    if (length > kRoom || at.value() > kRoom - length) return Error::FromErrno("write", ENOSPC);
    return ForwardingFile::WriteAt(at, buffers);
  }
  Result<void> Resize(uint64_t size) override {
    if (size > kRoom) return Error::FromErrno("resize", ENOSPC);
    return ForwardingFile::Resize(size);
  }

 private:
  Result<void> Before(fakes::FileOp /*op*/) override { return {}; }
};

void Perform(Image& image, BlockOp op, uint64_t at, uint64_t length) {
  static std::array<std::byte, 64 * kKiB> bytes;
  const uint64_t size = image.limits().size;
  if (size < 512) return;
  at = AlignDown(at % size, 512);
  length = std::min({AlignDown(length, 512) + 512, size - at, uint64_t{bytes.size()}});
  const bool transfer = op == BlockOp::kRead || op == BlockOp::kWrite;
  // Clearing a whole petabyte takes its time; a guest's longest request is bounded elsewhere.
  const iovec buffer{bytes.data(), transfer ? length : 0};
  BlockRequest request;
  request.op = op;
  if (op != BlockOp::kFlush) request.range = DiskRange::Make(DiskOffset(at), length).value();
  request.buffers = {&buffer, 1};
  request.may_unmap = at % 1024 == 0;
  BlockingExecutor executor(image, false);
  if (executor.Check(request).ok() && !executor.TryPerform(request))
    (void)executor.Perform(request).ok();
}

void Use(Image& image, const uint8_t* script) {
  constexpr std::array kOps = {BlockOp::kRead, BlockOp::kWrite, BlockOp::kDiscard,
                               BlockOp::kWriteZeroes, BlockOp::kFlush};
  for (size_t n = 0; n + 4 <= kScriptBytes; n += 4) {
    const uint64_t at = uint64_t{script[n + 1]} << (script[n + 2] % 48);
    Perform(image, kOps[script[n] % kOps.size()], at, uint64_t{script[n + 3]} << 8);
  }
  (void)image.Status(DiskRange::Make(DiskOffset(0), std::max<uint64_t>(512, 1)).value()).ok();
  (void)image.Close().ok();
}

}  // namespace
}  // namespace skiff::qcow2

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace skiff;
  if (size < qcow2::kScriptBytes) return 0;
  const auto content = std::as_bytes(std::span(data, size)).subspan(qcow2::kScriptBytes);
  fakes::MemoryFile memory;
  memory.SetBytes({content.begin(), content.end()});
  qcow2::Options options;
  options.read_only = data[0] >= 0xc0;
  options.most_reserved = data[3] % 2 == 0 ? 0 : kMiB;
  auto image =
      qcow2::Qcow2Image::Open(std::make_unique<qcow2::SmallHost>(memory), nullptr, options);
  if (image.ok()) qcow2::Use(**image, data);
  return 0;
}
