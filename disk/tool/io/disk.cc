#include "disk/tool/io/disk.h"

#include <poll.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "base/arith.h"
#include "base/iovec_cursor.h"

namespace skiff::io {
namespace {

constexpr uint32_t kDepth = 256;
constexpr uint64_t kZeroBytes = kMiB;

BlockRequest RequestFor(const Transfer& transfer) {
  BlockRequest request;
  request.op = transfer.op;
  request.range = DiskRange::Make(DiskOffset(transfer.at), transfer.length).value();
  request.buffers = transfer.buffers;
  request.may_unmap = transfer.may_unmap;
  request.force_unit_access = transfer.force_unit_access;
  return request;
}

Transfer Part(const Transfer& whole, uint64_t start, uint64_t end) {
  Transfer part = whole;
  part.at = start;
  part.length = end - start;
  return part;
}

}  // namespace

Result<std::unique_ptr<Disk>> Disk::Make(std::unique_ptr<BlockBackend> backend) {
  std::unique_ptr<BlockQueue> queue = TRY(backend->OpenQueue(kDepth));
  return std::unique_ptr<Disk>(new Disk(std::move(backend), std::move(queue)));
}

Disk::~Disk() {
  if (queue_ != nullptr) Drain();
}

Result<BlockStatus> Disk::Status(uint64_t at, uint64_t length) {
  const DiskRange range = TRY(DiskRange::Make(DiskOffset(at), length));
  return backend_->Status(range);
}

Result<void> Disk::CheckRange(uint64_t at, uint64_t length) const {
  if (at > limits().size || length > limits().size - at)
    return OutOfRange("past the end of the disk");
  return {};
}

Result<void> Disk::Perform(const Transfer& transfer) {
  TRY(CheckRange(transfer.at, transfer.length));
  switch (transfer.op) {
    case BlockOp::kRead:
      return WholeBlocks(transfer) ? Submit(transfer) : ReadParts(transfer);
    case BlockOp::kWrite:
      return WholeBlocks(transfer) ? Submit(transfer) : WriteParts(transfer);
    case BlockOp::kDiscard:
    case BlockOp::kWriteZeroes:
      return Clear(transfer);
    case BlockOp::kFlush:
      return Submit(transfer);
  }
  return {};
}

void Disk::Start(const Transfer& transfer, Completion done) {
  started_.push_back({{}, std::move(done)});
  Started& started = started_.back();
  const bool as_it_is = CheckRange(transfer.at, transfer.length).ok() && WholeBlocks(transfer) &&
                        transfer.length <= LongestFor(transfer.op);
  if (as_it_is) {
    started.request = RequestFor(transfer);
    queue_->Submit(started.request);
    queue_->Kick();
    return;
  }
  const Result<void> outcome = Perform(transfer);
  started.request.outcome = outcome;
  Finish(started.request);
}

void Disk::Poll() {
  while (BlockRequest* const request = queue_->Reap()) Finish(*request);
  TellFinished();
}

void Disk::TellFinished() {
  while (!finished_.empty()) {
    const Started started = std::move(finished_.front());
    finished_.pop_front();
    started.done(started.request.outcome);
  }
}

void Disk::Drain() {
  while (!started_.empty()) Finish(Await());
  Poll();
}

// The seam for truncate: BlockBackend has no call for it.
Result<void> Disk::Resize(uint64_t /*size*/) {
  return Unsupported("Image format driver does not support resize");
}

Result<void> Disk::Close() {
  Drain();
  queue_.reset();
  return backend_->Close();
}

bool Disk::WholeBlocks(const Transfer& transfer) const {
  return IsAligned(transfer.at | transfer.length, limits().logical_block);
}

uint64_t Disk::LongestFor(BlockOp op) const {
  if (op == BlockOp::kDiscard) return limits().max_discard;
  if (op == BlockOp::kWriteZeroes) return limits().max_zero_length;
  return limits().size;
}

Result<void> Disk::ReadParts(const Transfer& transfer) {
  const uint32_t block = limits().logical_block;
  const uint64_t start = AlignDown(transfer.at, block);
  std::vector<std::byte> bytes(AlignUp(transfer.at + transfer.length, block) - start);
  TRY(Submit(transfer, start, bytes));
  IovecCursor out(transfer.buffers);
  out.CopyIn(std::span(bytes).subspan(transfer.at - start, transfer.length));
  return {};
}

Result<void> Disk::WriteParts(const Transfer& transfer) {
  const uint32_t block = limits().logical_block;
  const uint64_t start = AlignDown(transfer.at, block);
  const uint64_t end = transfer.at + transfer.length;
  std::vector<std::byte> bytes(AlignUp(end, block) - start);
  const std::span<std::byte> all(bytes);
  if (start != transfer.at) TRY(ReadBlock(start, all.first(block)));
  if (!IsAligned(end, block)) TRY(ReadBlock(AlignDown(end, block), all.last(block)));
  IovecCursor in(transfer.buffers);
  in.CopyOut(all.subspan(transfer.at - start, transfer.length));
  return Submit(transfer, start, all);
}

Result<void> Disk::ReadBlock(uint64_t at, std::span<std::byte> block) {
  Transfer read;
  read.op = BlockOp::kRead;
  return Submit(read, at, block);
}

// The whole blocks of the range; of the rest, zeroes are written and discards forgotten.
Result<void> Disk::Clear(const Transfer& transfer) {
  const uint32_t block = limits().logical_block;
  const uint64_t end = transfer.at + transfer.length;
  const uint64_t first = std::min(AlignUp(transfer.at, block), end);
  const uint64_t last = std::max(AlignDown(end, block), first);
  if (transfer.op == BlockOp::kDiscard) return ClearBlocks(Part(transfer, first, last));
  TRY(WriteZeroBytes(Part(transfer, transfer.at, first)));
  TRY(ClearBlocks(Part(transfer, first, last)));
  return WriteZeroBytes(Part(transfer, last, end));
}

Result<void> Disk::ClearBlocks(Transfer rest) {
  const uint64_t longest = AlignDown(LongestFor(rest.op), limits().logical_block);
  if (longest == 0) return rest.op == BlockOp::kDiscard ? Result<void>() : WriteZeroBytes(rest);
  const uint64_t end = rest.at + rest.length;
  while (rest.at < end) {
    rest.length = std::min(longest, end - rest.at);
    TRY(Submit(rest));
    rest.at += rest.length;
  }
  return {};
}

Result<void> Disk::WriteZeroBytes(const Transfer& transfer) {
  std::vector<std::byte> zeroes(std::min(transfer.length, kZeroBytes));
  for (uint64_t done = 0; done < transfer.length;) {
    const uint64_t length = std::min<uint64_t>(zeroes.size(), transfer.length - done);
    const iovec buffer{zeroes.data(), length};
    Transfer write = Part(transfer, transfer.at + done, transfer.at + done + length);
    write.op = BlockOp::kWrite;
    write.buffers = {&buffer, 1};
    TRY(Perform(write));
    done += length;
  }
  return {};
}

Result<void> Disk::Submit(const Transfer& transfer) {
  BlockRequest request = RequestFor(transfer);
  queue_->Submit(request);
  queue_->Kick();
  while (true) {
    BlockRequest& completed = Await();
    if (&completed == &request) break;
    Finish(completed);
  }
  TellFinished();
  return request.outcome;
}

Result<void> Disk::Submit(Transfer transfer, uint64_t at, std::span<std::byte> bytes) {
  const iovec buffer{bytes.data(), bytes.size()};
  transfer.at = at;
  transfer.length = bytes.size();
  transfer.buffers = {&buffer, 1};
  return Submit(transfer);
}

BlockRequest& Disk::Await() {
  while (true) {
    if (BlockRequest* const request = queue_->Reap()) return *request;
    pollfd ready{queue_->completion_event(), POLLIN, 0};
    poll(&ready, 1, -1);
  }
}

void Disk::Finish(BlockRequest& request) {
  const auto it = std::find_if(started_.begin(), started_.end(),
                               [&](const Started& s) { return &s.request == &request; });
  if (it != started_.end()) finished_.splice(finished_.end(), started_, it);
}

}  // namespace skiff::io
