#include "disk/aligned_file.h"

#include <algorithm>
#include <array>
#include <cstdlib>

#include "base/arith.h"
#include "base/iovec_cursor.h"

namespace skiff {
namespace {

constexpr uint64_t kBounceBytes = 256 * kKiB;  // bounds memory; longer transfers take turns
constexpr uint64_t kPage = 4 * kKiB;

// Memory that any direct I/O accepts.
class BounceBuffer {
 public:
  BounceBuffer(const Alignment& rule, uint64_t wanted)
      : size_(std::min(wanted, std::max<uint64_t>(kBounceBytes, rule.block))),
        bytes_(static_cast<std::byte*>(
            std::aligned_alloc(std::max<uint64_t>(kPage, rule.memory),
                               AlignUp(size_, std::max<uint64_t>(kPage, rule.memory))))) {}
  ~BounceBuffer() { std::free(bytes_); }
  BounceBuffer(const BounceBuffer&) = delete;
  BounceBuffer& operator=(const BounceBuffer&) = delete;

  bool valid() const { return bytes_ != nullptr; }
  std::span<std::byte> First(uint64_t count) const { return {bytes_, std::min(count, size_)}; }

 private:
  const uint64_t size_;
  std::byte* const bytes_;
};

Error OutOfMemory() { return Error::FromErrno("allocating a buffer for direct I/O", ENOMEM); }

FileOffset Later(FileOffset a, FileOffset b) { return std::max(a, b); }

// From `start` to before `end`, empty if that is no distance.
FileRange Between(FileOffset start, FileOffset end) {
  if (end <= start) return {};
  return FileRange::Make(start, end.value() - start.value()).value();
}

FileRange FromHereOn(FileOffset start) { return Between(start, FileOffset(UINT64_MAX)); }

FileFacts WithoutRules(FileFacts facts) {
  facts.required = {};
  return facts;
}

}  // namespace

AlignedFile::AlignedFile(std::unique_ptr<File> inner)
    : inner_(std::move(inner)),
      rule_(inner_->facts().required),
      facts_(WithoutRules(inner_->facts())) {}

Result<FileRange> AlignedFile::Outward(FileRange range) const {
  if (range.end().value() > UINT64_MAX - rule_.block)
    return OutOfRange("position past the end of any file");
  const uint64_t end = AlignUp(range.end().value(), rule_.block);
  return Between(FileOffset(AlignDown(range.start().value(), rule_.block)), FileOffset(end));
}

FileRange AlignedFile::Inward(FileRange range) const {
  if (range.start().value() > UINT64_MAX - rule_.block) return {};
  return Between(FileOffset(AlignUp(range.start().value(), rule_.block)),
                 FileOffset(AlignDown(range.end().value(), rule_.block)));
}

Result<void> AlignedFile::ReadAt(FileOffset at, std::span<const iovec> buffers) {
  if (IsAligned(rule_, at, buffers)) return inner_->ReadAt(at, buffers);
  const FileRange range = TRY(FileRange::Make(at, TotalBytes(buffers)));
  return ReadBounced(range, buffers);
}

Result<void> AlignedFile::ReadBounced(FileRange range, std::span<const iovec> buffers) {
  FileRange blocks = TRY(Outward(range));
  const BounceBuffer bounce(rule_, blocks.length());
  if (!bounce.valid()) return OutOfMemory();
  IovecCursor out(buffers);
  while (!blocks.empty()) {
    const std::span<std::byte> bytes = bounce.First(blocks.length());
    TRY(ReadBytes(*inner_, blocks.start(), bytes));
    const FileOffset from = Later(blocks.start(), range.start());
    out.CopyIn(bytes.subspan(from.value() - blocks.start().value()));
    blocks = blocks.Suffix(bytes.size());
  }
  return {};
}

Result<void> AlignedFile::WriteAt(FileOffset at, std::span<const iovec> buffers) {
  const FileRange range = TRY(FileRange::Make(at, TotalBytes(buffers)));
  if (range.empty()) return {};
  if (!IsAligned(rule_, at, buffers)) return WriteBounced(range, buffers);
  const RangeLock::Hold hold(writes_, range, RangeLock::Mode::kShared);
  return inner_->WriteAt(at, buffers);
}

Result<void> AlignedFile::WriteBounced(FileRange range, std::span<const iovec> buffers) {
  const FileRange blocks = TRY(Outward(range));
  if (blocks.length() == range.length()) {  // only the memory is misaligned
    const RangeLock::Hold hold(writes_, blocks, RangeLock::Mode::kShared);
    return WriteBlocks(range, blocks, buffers);
  }
  if (blocks.end().value() <= inner_->size()) {
    const RangeLock::Hold hold(writes_, blocks, RangeLock::Mode::kExclusive);
    return WriteBlocks(range, blocks, buffers);
  }
  // Whole blocks may reach past the end that the file should have. Nobody may grow it further
  // until it is cut back.
  const RangeLock::Hold hold(writes_, FromHereOn(blocks.start()), RangeLock::Mode::kExclusive);
  const uint64_t wanted = std::max(inner_->size(), range.end().value());
  Result<void> written = WriteBlocks(range, blocks, buffers);
  if (inner_->size() > wanted && blocks.end().value() > wanted) TRY(inner_->Resize(wanted));
  return written;
}

Result<void> AlignedFile::WriteBlocks(FileRange range, FileRange blocks,
                                      std::span<const iovec> buffers) {
  const BounceBuffer bounce(rule_, blocks.length());
  if (!bounce.valid()) return OutOfMemory();
  IovecCursor in(buffers);
  while (!blocks.empty()) {
    const std::span<std::byte> bytes = bounce.First(blocks.length());
    TRY(LoadEdges(range, blocks.Prefix(bytes.size()), bytes));
    const FileOffset from = Later(blocks.start(), range.start());
    in.CopyOut(bytes.subspan(from.value() - blocks.start().value()));
    TRY(WriteBytes(*inner_, blocks.start(), bytes));
    blocks = blocks.Suffix(bytes.size());
  }
  return {};
}

// Reads the blocks of `chunk` that `range` covers only in part: at most its first and its last.
Result<void> AlignedFile::LoadEdges(FileRange range, FileRange chunk, std::span<std::byte> bytes) {
  const bool head = chunk.start() < range.start();
  const bool tail = range.end() < chunk.end();
  if (head) TRY(ReadBytes(*inner_, chunk.start(), bytes.first(rule_.block)));
  if (tail && !(head && bytes.size() == rule_.block)) {
    const FileOffset last(chunk.end().value() - rule_.block);
    TRY(ReadBytes(*inner_, last, bytes.last(rule_.block)));
  }
  return {};
}

bool AlignedFile::TryReadAt(FileOffset at, std::span<const iovec> buffers) {
  return IsAligned(rule_, at, buffers) && inner_->TryReadAt(at, buffers);
}

// Taking the range may have to wait, and direct writes always wait for the disk.
bool AlignedFile::TryWriteAt(FileOffset /*at*/, std::span<const iovec> /*buffers*/) {
  return false;
}

Result<void> AlignedFile::Zero(FileRange range, bool may_unmap) {
  const FileRange whole = Inward(range);
  if (whole.empty()) return ZeroEdge(range);
  TRY(ZeroEdge(Between(range.start(), whole.start())));
  TRY(ZeroEdge(Between(whole.end(), range.end())));
  const RangeLock::Hold hold(writes_, whole, RangeLock::Mode::kShared);
  return inner_->Zero(whole, may_unmap);
}

// Less than two blocks.
Result<void> AlignedFile::ZeroEdge(FileRange range) {
  static const std::array<std::byte, 512> kZeroes{};
  while (!range.empty()) {
    const FileRange piece = range.Prefix(kZeroes.size());
    TRY(WriteBytes(*this, piece.start(), std::span(kZeroes).first(piece.length())));
    range = range.Suffix(piece.length());
  }
  return {};
}

Result<void> AlignedFile::Discard(FileRange range) {
  const FileRange whole = Inward(range);
  if (whole.empty()) return {};
  const RangeLock::Hold hold(writes_, whole, RangeLock::Mode::kShared);
  return inner_->Discard(whole);
}

Result<void> AlignedFile::Resize(uint64_t size) {
  const RangeLock::Hold hold(writes_, FromHereOn(FileOffset(0)), RangeLock::Mode::kExclusive);
  return inner_->Resize(size);
}

}  // namespace skiff
