#include "devices/virtio/blk/channel.h"

#include <algorithm>
#include <string>
#include <utility>

#include "base/overloaded.h"
#include "devices/virtio/chain_io.h"

namespace skiff::virtio {
namespace {

void Add(std::atomic<uint64_t>& sum, uint64_t amount) {
  sum.fetch_add(amount, std::memory_order_relaxed);
}

const char* NameOf(BlockOp op) {
  switch (op) {
    case BlockOp::kRead:
      return "read";
    case BlockOp::kWrite:
      return "write";
    case BlockOp::kFlush:
      return "flush";
    case BlockOp::kDiscard:
      return "discard";
    case BlockOp::kWriteZeroes:
      break;
  }
  return "write-zeroes";
}

}  // namespace

Result<std::unique_ptr<BlkChannel>> BlkChannel::Start(const BlkDisk& disk, SessionQueue queue,
                                                      Notifier& notifier) {
  auto block_queue = TRY(disk.backend->OpenQueue(queue.queue->size()));
  std::unique_ptr<BlkChannel> channel(
      new BlkChannel(disk, std::move(queue), notifier, std::move(block_queue)));
  TRY(channel->Run());
  return channel;
}

BlkChannel::BlkChannel(const BlkDisk& disk, SessionQueue queue, Notifier& notifier,
                       std::unique_ptr<BlockQueue> block_queue)
    : disk_(disk),
      queue_(std::move(queue)),
      notifier_(notifier),
      iovecs_(std::make_unique_for_overwrite<iovec[]>(size_t{queue_.queue->size()} *
                                                      queue_.queue->max_chain())),
      slots_(queue_.queue->size()),
      block_queue_(std::move(block_queue)) {
  const size_t max_chain = queue_.queue->max_chain();
  for (size_t i = slots_.size(); i-- > 0;) {
    slots_[i].many = std::span(iovecs_.get() + i * max_chain, max_chain);
    slots_[i].request.cookie = &slots_[i];
    free_.push_back(&slots_[i]);
  }
}

BlkChannel::~BlkChannel() {
  worker_.reset();
  queue_.queue->Close();
  block_queue_.reset();
}

Result<void> BlkChannel::Run() {
  auto loop = TRY(EventLoop::Make());
  loop_ = loop.get();
  TRY(loop->Watch(queue_.kick->fd(), [this] { OnKick(); }));
  TRY(loop->Watch(block_queue_->completion_event(), [this] { OnCompletion(); }));
  queue_.kick->Signal();  // for what is waiting already
  worker_ = TRY(Worker::Start(disk_.name, std::move(loop)));
  return {};
}

void BlkChannel::OnKick() {
  const bool sound = ServeKick(queue_, notifier_, protocol_log_,
                               [this](DescriptorChain chain) { Serve(std::move(chain)); });
  if (!sound) loop_->Unwatch(queue_.kick->fd());
  if (std::exchange(submitted_, false)) block_queue_->Kick();
  ReapAll();  // an engine may be done with some already
  PublishAnswers(queue_, notifier_);
}

void BlkChannel::OnCompletion() {
  ReapAll();
  PublishAnswers(queue_, notifier_);
}

void BlkChannel::ReapAll() {
  while (BlockRequest* request = block_queue_->Reap()) Finish(*static_cast<Slot*>(request->cookie));
}

void BlkChannel::Serve(DescriptorChain chain) {
  Add(disk_.statistics->requests, 1);
  const auto status = LastByte(chain.writable);
  if (!status.has_value()) return;  // nowhere to put one: the answer goes back empty
  const auto id = [&](BlkGetId) {
    const size_t room = ByteCount(chain.writable) - 1;
    const size_t written =
        CopyIn(chain.writable, 0, std::span(disk_.id).first(std::min(room, disk_.id.size())));
    // A buffer that is too long has a gap before its status, which nobody wrote.
    const size_t reported = written == room ? room + 1 : written;
    Answer(std::move(chain.answer), *status, kBlkStatusOk, static_cast<uint32_t>(reported));
  };
  const auto verdict = [&](BlkVerdict v) { Answer(std::move(chain.answer), *status, v.status, 1); };
  const auto transfer = [&](const BlkTransfer& t) { Submit(t, chain, *status); };
  std::visit(Overloaded{id, verdict, transfer}, ParseBlkRequest(chain, disk_.rules));
}

void BlkChannel::Submit(const BlkTransfer& transfer, DescriptorChain& chain,
                        const GuestSpan& status) {
  // There is one: heads in flight are all different, and there are as many slots.
  Slot& slot = *free_.back();
  free_.pop_back();
  slot.answer.emplace(std::move(chain.answer));
  slot.status = status;
  slot.written_on_success = 1;

  const bool reads = transfer.op == BlockOp::kRead;
  const auto buffers = reads ? chain.writable : chain.readable;
  const std::span<iovec> room = buffers.size() <= slot.few.size() ? std::span(slot.few) : slot.many;
  size_t pieces = 0;
  if (reads || transfer.op == BlockOp::kWrite) {
    const uint64_t offset = reads ? 0 : sizeof(BlkRequestHeader);
    pieces = DescribeForKernel(buffers, offset, transfer.range.length(), room);
  }
  if (reads) slot.written_on_success += static_cast<uint32_t>(transfer.range.length());

  slot.request.op = transfer.op;
  slot.request.range = transfer.range;
  slot.request.buffers = room.first(pieces);
  slot.request.may_unmap = transfer.may_unmap;
  slot.request.force_unit_access = transfer.force_unit_access;
  block_queue_->Submit(slot.request);
  submitted_ = true;
}

void BlkChannel::Finish(Slot& slot) {
  const uint8_t code = StatusOf(slot.request);
  if (code == kBlkStatusOk) Count(slot.request);
  const uint32_t written = code == kBlkStatusOk ? slot.written_on_success : 1;
  Answer(std::move(*slot.answer), slot.status, code, written);
  slot.answer.reset();
  free_.push_back(&slot);
}

void BlkChannel::Answer(OwedAnswer answer, const GuestSpan& status, uint8_t code,
                        uint32_t written) {
  if (code != kBlkStatusOk) Add(disk_.statistics->failures, 1);
  status.CopyFrom(std::as_bytes(std::span(&code, 1)));
  std::move(answer).Complete(written);
}

uint8_t BlkChannel::StatusOf(const BlockRequest& request) {
  if (request.outcome.ok()) return kBlkStatusOk;
  const Error& error = request.outcome.error();
  io_log_.Warning(std::string(disk_.name) + ": " + NameOf(request.op) + " at byte " +
                  std::to_string(request.range.start().value()) + ": " + error.message());
  return error.code() == ErrorCode::kUnsupported ? kBlkStatusUnsupp : kBlkStatusIoErr;
}

void BlkChannel::Count(const BlockRequest& request) {
  BlkStatistics& statistics = *disk_.statistics;
  if (request.op == BlockOp::kRead) Add(statistics.read_bytes, request.range.length());
  if (request.op == BlockOp::kWrite) Add(statistics.written_bytes, request.range.length());
  if (request.op == BlockOp::kFlush) Add(statistics.flushes, 1);
}

}  // namespace skiff::virtio
