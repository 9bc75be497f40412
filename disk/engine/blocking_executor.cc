#include "disk/engine/blocking_executor.h"

#include <algorithm>
#include <array>
#include <vector>

#include "base/arith.h"
#include "base/overloaded.h"

namespace skiff {
namespace {

constexpr size_t kPieces = 256;  // buffers per host call, on the stack
constexpr uint64_t kFillBytes = 64 * kKiB;

Error EmptyPlan() { return Corrupt("the image maps a range to nothing"); }

Result<void> ReadRange(Image& image, DiskRange range, IovecCursor& out);

Result<void> ReadFromFile(File& file, FileRange source, IovecCursor& out) {
  std::array<iovec, kPieces> pieces;
  while (!source.empty()) {
    const auto window = std::span(pieces).first(out.Peek(source.length(), pieces));
    const uint64_t length = TotalBytes(window);
    if (length == 0) return Invalid("buffers shorter than the request");
    TRY(file.ReadAt(source.start(), window));
    out.Skip(length);
    source = source.Suffix(length);
  }
  return {};
}

Result<void> WriteToFile(File& file, FileRange target, IovecCursor& in) {
  std::array<iovec, kPieces> pieces;
  while (!target.empty()) {
    const auto window = std::span(pieces).first(in.Peek(target.length(), pieces));
    const uint64_t length = TotalBytes(window);
    if (length == 0) return Invalid("buffers shorter than the request");
    TRY(file.WriteAt(target.start(), window));
    in.Skip(length);
    target = target.Suffix(length);
  }
  return {};
}

// The backing image may be the shorter one.
Result<void> ReadFromBelow(Image& image, DiskRange range, IovecCursor& out) {
  Image* const below = image.below();
  const uint64_t size = below != nullptr ? below->limits().size : 0;
  const uint64_t start = std::min(range.start().value(), size);
  const DiskRange there = range.Prefix(size - start);
  if (!there.empty()) TRY(ReadRange(*below, there, out));
  out.Zero(range.length() - there.length());
  return {};
}

Result<void> ReadDecoded(Image& image, const ReadEncoded& step, IovecCursor& out) {
  const auto cluster = TRY(image.Decode(step));
  if (step.offset > cluster->size() || step.length > cluster->size() - step.offset)
    return Corrupt("a compressed cluster is shorter than it should be");
  out.CopyIn(std::span(*cluster).subspan(step.offset, step.length));
  return {};
}

Result<void> ReadStepInto(Image& image, const ReadStep& step, IovecCursor& out) {
  return std::visit(
      Overloaded{
          [&](const ReadFile& s) { return ReadFromFile(image.data_file(), s.source, out); },
          [&](const ReadZeroes& s) { return out.Zero(s.length), Result<void>(); },
          [&](const ReadBelow& s) { return ReadFromBelow(image, s.range, out); },
          [&](const ReadEncoded& s) { return ReadDecoded(image, s, out); },
      },
      step);
}

Result<void> ReadRange(Image& image, DiskRange range, IovecCursor& out) {
  while (!range.empty()) {
    const ReadPlan plan = TRY(image.MapRead(range));
    if (plan.covers == 0) return EmptyPlan();
    for (const ReadStep& step : plan.steps) TRY(ReadStepInto(image, step, out));
    range = range.Suffix(plan.covers);
  }
  return {};
}

// Of `step` only the bytes from `skip`, at most `length`.
ReadStep Slice(const ReadStep& step, uint64_t skip, uint64_t length) {
  return std::visit(
      Overloaded{
          [&](const ReadFile& s) -> ReadStep {
            return ReadFile{s.source.Suffix(skip).Prefix(length)};
          },
          [&](const ReadZeroes& s) -> ReadStep {
            return ReadZeroes{std::min(s.length - skip, length)};
          },
          [&](const ReadBelow& s) -> ReadStep {
            return ReadBelow{s.range.Suffix(skip).Prefix(length)};
          },
          [&](const ReadEncoded& s) -> ReadStep {
            return ReadEncoded{s.source, s.offset + skip, std::min(s.length - skip, length)};
          },
      },
      step);
}

Result<void> Fill(Image& image, const FillStep& fill) {
  const uint64_t total = LengthOf(fill.source);
  std::vector<std::byte> bytes(std::min(total, kFillBytes));
  for (uint64_t done = 0; done < total;) {
    const uint64_t length = std::min<uint64_t>(total - done, bytes.size());
    const iovec buffer{bytes.data(), length};
    IovecCursor out({&buffer, 1});
    TRY(ReadStepInto(image, Slice(fill.source, done, length), out));
    TRY(image.data_file().WriteAt(fill.target + done, {&buffer, 1}));
    done += length;
  }
  return {};
}

Result<void> WriteRange(Image& image, DiskRange range, IovecCursor& in) {
  while (!range.empty()) {
    WritePlan plan = TRY(image.PrepareWrite(range));
    if (plan.covers == 0) return EmptyPlan();
    for (const FileRange& target : plan.payload) TRY(WriteToFile(image.data_file(), target, in));
    for (const FillStep& fill : plan.fills) TRY(Fill(image, fill));
    TRY(plan.Commit());  // now, and only now, is the data linked
    range = range.Suffix(plan.covers);
  }
  return {};
}

// Writes zeroes as a guest would.
Result<void> WriteZeroBytes(Image& image, DiskRange range) {
  std::vector<std::byte> zeroes(std::min(range.length(), kFillBytes));
  while (!range.empty()) {
    const DiskRange part = range.Prefix(zeroes.size());
    const iovec buffer{zeroes.data(), part.length()};
    IovecCursor in({&buffer, 1});
    TRY(WriteRange(image, part, in));
    range = range.Suffix(part.length());
  }
  return {};
}

// `range`, parted at the first and last border of the image's units inside it.
struct Parted {
  DiskRange head, units, tail;
};
Parted PartByUnits(const Image& image, DiskRange range) {
  const uint64_t unit = image.clear_unit();
  const uint64_t start = range.start().value();
  const uint64_t to_units = AlignUp(start, unit) - start;
  if (to_units >= range.length()) return {range, {}, {}};
  const DiskRange rest = range.Suffix(to_units);
  const bool ends_disk = range.end().value() == image.limits().size;
  const uint64_t whole = ends_disk ? rest.length() : AlignDown(rest.length(), unit);
  return {range.Prefix(to_units), rest.Prefix(whole), rest.Suffix(whole)};
}

Result<void> ZeroRange(Image& image, DiskRange range, bool may_unmap) {
  const Parted parts = PartByUnits(image, range);
  TRY(WriteZeroBytes(image, parts.head));
  if (!parts.units.empty()) {
    Result<void> zeroed = image.WriteZeroes(parts.units, may_unmap);
    if (!zeroed.ok() && zeroed.error().code() == ErrorCode::kUnsupported)
      zeroed = WriteZeroBytes(image, parts.units);
    TRY(std::move(zeroed));
  }
  return WriteZeroBytes(image, parts.tail);
}

// A hint: parts of units stay as they are.
Result<void> DiscardRange(Image& image, DiskRange range) {
  const DiskRange units = PartByUnits(image, range).units;
  return units.empty() ? Result<void>() : image.Discard(units);
}

bool TryReadFromFile(File& file, FileRange source, IovecCursor& out) {
  std::array<iovec, kPieces> pieces;
  const auto window = std::span(pieces).first(out.Peek(source.length(), pieces));
  if (TotalBytes(window) != source.length()) return false;  // more pieces than fit
  if (!file.TryReadAt(source.start(), window)) return false;
  out.Skip(source.length());
  return true;
}

bool TryReadRange(Image& image, DiskRange range, IovecCursor& out) {
  while (!range.empty()) {
    const std::optional<ReadPlan> plan = image.TryMapRead(range);
    if (!plan || plan->covers == 0) return false;
    for (const ReadStep& step : plan->steps) {
      const auto* const in_file = std::get_if<ReadFile>(&step);
      if (in_file != nullptr) {
        if (!TryReadFromFile(image.data_file(), in_file->source, out)) return false;
      } else if (std::holds_alternative<ReadZeroes>(step)) {
        out.Zero(LengthOf(step));
      } else {
        return false;
      }
    }
    range = range.Suffix(plan->covers);
  }
  return true;
}

bool TryWriteToFile(File& file, FileRange target, IovecCursor& in) {
  std::array<iovec, kPieces> pieces;
  const auto window = std::span(pieces).first(in.Peek(target.length(), pieces));
  if (TotalBytes(window) != target.length()) return false;
  if (!file.TryWriteAt(target.start(), window)) return false;
  in.Skip(target.length());
  return true;
}

bool TryWriteRange(Image& image, DiskRange range, IovecCursor& in) {
  while (!range.empty()) {
    const std::optional<WritePlan> plan = image.TryPrepareWrite(range);
    if (!plan || plan->covers == 0 || plan->link != nullptr || !plan->fills.empty()) return false;
    for (const FileRange& target : plan->payload) {
      if (!TryWriteToFile(image.data_file(), target, in)) return false;
    }
    range = range.Suffix(plan->covers);
  }
  return true;
}

uint64_t LongestFor(const BlockRequest& request, const BlockLimits& limits) {
  switch (request.op) {
    case BlockOp::kDiscard:
      return limits.max_discard;
    case BlockOp::kWriteZeroes:
      return limits.max_zero_length;
    default:
      return limits.size;
  }
}

}  // namespace

Result<void> BlockingExecutor::Check(const BlockRequest& request) const {
  const BlockLimits& limits = image_.limits();
  if (request.op == BlockOp::kFlush) return {};
  if (request.op != BlockOp::kRead && limits.read_only) return ReadOnly("the disk is read-only");
  if (!IsAligned(request.range.start().value() | request.range.length(), limits.logical_block))
    return Invalid("not a whole number of blocks");
  if (request.range.end().value() > limits.size) return OutOfRange("past the end of the disk");
  const bool transfer = request.op == BlockOp::kRead || request.op == BlockOp::kWrite;
  if (transfer && TotalBytes(request.buffers) != request.range.length())
    return Invalid("buffers and range differ in length");
  const uint64_t longest = LongestFor(request, limits);
  if (longest == 0) return Unsupported("the disk cannot do this");
  if (request.range.length() > longest) return Invalid("longer than the disk's limit");
  return {};
}

Result<void> BlockingExecutor::Perform(const BlockRequest& request) {
  if (request.op == BlockOp::kFlush) return image_.Flush();
  if (request.range.empty()) return {};
  IovecCursor buffers(request.buffers);
  switch (request.op) {
    case BlockOp::kRead:
      return ReadRange(image_, request.range, buffers);
    case BlockOp::kWrite:
      TRY(WriteRange(image_, request.range, buffers));
      break;
    case BlockOp::kWriteZeroes:
      TRY(ZeroRange(image_, request.range, request.may_unmap));
      break;
    case BlockOp::kDiscard:
      return DiscardRange(image_, request.range);  // a hint: nothing in it to make durable
    case BlockOp::kFlush:
      break;
  }
  return MustBeDurable(request) ? image_.Flush() : Result<void>();
}

bool BlockingExecutor::TryPerform(const BlockRequest& request) {
  if (request.range.empty()) return request.op != BlockOp::kFlush;
  IovecCursor buffers(request.buffers);
  if (request.op == BlockOp::kRead) return TryReadRange(image_, request.range, buffers);
  if (request.op == BlockOp::kWrite && !MustBeDurable(request))
    return TryWriteRange(image_, request.range, buffers);
  return false;
}

}  // namespace skiff
