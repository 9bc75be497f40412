#include "tests/fakes/disk_rig.h"

#include <cstdlib>

namespace skiff::fakes {

using virtio::BlkRequestHeader;
using virtio::BlkRequestType;

DiskRig::DiskRig(DiskRigOptions chosen)
    : options(std::move(chosen)),
      ram(options.ram_bytes),
      disk(std::make_shared<MemoryDiskState>(options.bytes)),
      blk(std::move(
              virtio::Blk::Make(std::make_unique<MemoryDisk>(disk, options.limits), options.blk))
              .value()),
      negotiation(std::move(virtio::Negotiation::Make(ram.memory(), *blk, interrupts)).value()) {
  Restart();
}

void DiskRig::Restart() {
  queues_.clear();
  features = OfferedFeatures(*negotiation) & ~options.refused_features;
  if (!Negotiate(*negotiation, features)) std::abort();
  for (uint16_t i = 0; i < negotiation->queue_count(); ++i) {
    queues_.push_back(std::make_unique<DriverQueue>(ram, options.queue_size, features));
    SetUpQueue(*negotiation, i, queues_.back()->layout());
  }
  AddStatus(*negotiation, virtio::kStatusDriverOk);
}

std::optional<DiskOutcome> DiskRig::Run(std::span<const DriverBuffer> buffers) {
  MarkUnanswered(buffers);
  queue().Add(buffers);
  return Await(buffers);
}

std::optional<DiskOutcome> DiskRig::RunIndirect(std::span<const DriverBuffer> buffers) {
  MarkUnanswered(buffers);
  queue().AddIndirect(buffers);
  return Await(buffers);
}

std::optional<GuestAddr> DiskRig::StatusByte(std::span<const DriverBuffer> buffers) const {
  const DriverBuffer& last = buffers.back();
  const GuestAddr status = last.address + (uint64_t{last.length} - 1);
  if (!last.writable || last.length == 0 || status >= ram.end()) return std::nullopt;
  return status;
}

// Before the device may see the request.
void DiskRig::MarkUnanswered(std::span<const DriverBuffer> buffers) {
  if (const auto status = StatusByte(buffers)) ram.Store(*status, kUnanswered);
}

std::optional<DiskOutcome> DiskRig::Await(std::span<const DriverBuffer> buffers) {
  if (queue().NeedsKick()) Kick();
  const auto used = WaitForAnswer();
  if (!used) return std::nullopt;
  const auto status = StatusByte(buffers);
  return DiskOutcome{.status = status ? ram.Load<uint8_t>(*status) : kUnanswered,
                     .length = used->length};
}

std::optional<DiskOutcome> DiskRig::Read(uint64_t sector, GuestAddr data, uint32_t length) {
  return Run({Header(BlkRequestType::kIn, sector), {data, length, true}, Status()});
}

std::optional<DiskOutcome> DiskRig::Write(uint64_t sector, GuestAddr data, uint32_t length) {
  return Run({Header(BlkRequestType::kOut, sector), {data, length, false}, Status()});
}

std::optional<DiskOutcome> DiskRig::Flush() {
  return Run({Header(BlkRequestType::kFlush, 0), Status()});
}

std::optional<DiskOutcome> DiskRig::Command(BlkRequestType type, std::span<const std::byte> data) {
  const DriverBuffer payload{ram.Place(data), static_cast<uint32_t>(data.size()), false};
  return Run({Header(type, 0), payload, Status()});
}

DriverBuffer DiskRig::Header(BlkRequestType type, uint64_t sector) {
  const BlkRequestHeader header{
      .type = static_cast<uint32_t>(type), .reserved = {}, .sector = sector};
  return {ram.Place(std::as_bytes(std::span(&header, 1))), sizeof header, false};
}

DriverBuffer DiskRig::Status() { return {ram.Allocate(1), 1, true}; }

std::optional<UsedElement> DiskRig::WaitForAnswer(uint16_t queue_index) {
  for (;;) {
    if (const auto used = queue(queue_index).TakeUsed()) return used;
    if (!queue(queue_index).ArmInterrupt()) continue;
    if (needs_reset() || !interrupts.Wait(seen_interrupts_)) return std::nullopt;
  }
}

virtio::BlkConfig DiskRig::Config() const {
  virtio::BlkConfig config{};
  negotiation->ReadConfig(0, std::as_writable_bytes(std::span(&config, 1)));
  return config;
}

}  // namespace skiff::fakes
