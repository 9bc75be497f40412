#include "tests/fuzz/chain_input.h"

#include <poll.h>

#include <array>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <thread>

#include "base/log.h"
#include "devices/virtio/blk/blk.h"
#include "devices/virtio/negotiation.h"
#include "tests/fakes/driver.h"
#include "tests/fakes/fake_interrupts.h"
#include "tests/fakes/memory_disk.h"

namespace skiff::fuzz {
namespace {

using virtio::BlkRequestHeader;
using virtio::BlkRequestType;
using virtio::VirtqDesc;

constexpr uint64_t kRamBytes = 64 * 1024;
constexpr uint64_t kDiskBytes = 64 * 1024;
constexpr uint16_t kQueueSize = 16;
constexpr uint64_t kAvailable = 0x100;
constexpr uint64_t kUsed = 0x140;
constexpr uint64_t kHeader = 0x200;
constexpr uint64_t kStatus = 0x220;
constexpr uint64_t kTable = 0x300;
constexpr uint64_t kData = 0x1000;

GuestMemory MakeMemory() {
  const std::array<GuestRange, 1> ranges{GuestRange::Make(GuestAddr(0), kRamBytes).value()};
  return std::move(GuestMemory::Allocate(ranges)).value();
}

void FillMemory(const GuestMemory& memory, std::span<const std::byte> image) {
  const auto all = memory.At(GuestRange::Make(GuestAddr(0), kRamBytes).value());
  all->Zero();
  all->CopyFrom(image);
}

// Waits until the device has taken the event; what it does about it, a reset waits for. Memory that
// feeds requests for ever is possible: then the reset comes in between.
void WaitUntilTaken(const EventFd& event) {
  pollfd waiting{.fd = event.fd(), .events = POLLIN, .revents = 0};
  for (int i = 0; i < 10000 && poll(&waiting, 1, 0) > 0; ++i) std::this_thread::yield();
}

void CheckDisk(const fakes::MemoryDiskState& disk) {
  for (const fakes::DiskEvent& event : disk.Events())
    if (event.length > kDiskBytes || event.start > kDiskBytes - event.length) std::abort();
  if (disk.depth_exceeded()) std::abort();
}

// One request in a memory image of its own.
std::vector<std::byte> Seed(BlkRequestType type, uint32_t readable, uint32_t writable,
                            bool indirect) {
  std::vector<std::byte> image(1 + kData + 0x400);
  const auto put = [&](uint64_t at, const auto& value) {
    std::memcpy(image.data() + 1 + at, &value, sizeof value);
  };
  const uint64_t chain = indirect ? kTable : 0;
  const auto flags = [](bool write, bool more) {
    return static_cast<uint16_t>((write ? virtio::kDescWrite : 0U) | (more ? 1U : 0U));
  };
  image[0] = std::byte{0xff};
  put(kAvailable + 2, uint16_t{1});
  put(kHeader, BlkRequestHeader{.type = static_cast<uint32_t>(type), .reserved = {}, .sector = {}});
  put(chain, VirtqDesc{.addr = kHeader, .len = 16U, .flags = flags(false, true), .next = {1}});
  put(chain + 16, VirtqDesc{.addr = kData,
                            .len = readable + writable,
                            .flags = flags(writable != 0, true),
                            .next = uint16_t{2}});
  put(chain + 32, VirtqDesc{.addr = kStatus, .len = 1U, .flags = flags(true, false), .next = {}});
  if (indirect)
    put(0, VirtqDesc{.addr = kTable, .len = 48U, .flags = virtio::kDescIndirect, .next = {}});
  put(kData + 8, uint32_t{1});  // num_sectors of a segment
  return image;
}

}  // namespace

void RunChainInput(std::span<const std::byte> input) {
  if (input.empty()) return;
  SetLogLevel(LogLevel::kError);
  static const GuestMemory memory = MakeMemory();
  FillMemory(memory, input.subspan(1));

  auto disk = std::make_shared<fakes::MemoryDiskState>(kDiskBytes);
  const BlockLimits limits = fakes::MemoryDisk::DefaultLimits(kDiskBytes);
  auto blk = virtio::Blk::Make(std::make_unique<fakes::MemoryDisk>(disk, limits),
                               {.name = "fuzz", .queue_size = 32});
  fakes::FakeInterrupts interrupts;
  auto negotiation = virtio::Negotiation::Make(memory, **blk, interrupts);
  virtio::Negotiation& device = **negotiation;

  const auto choice = std::to_integer<unsigned>(input[0]);
  uint64_t features = fakes::OfferedFeatures(device);
  if ((choice & 1) == 0) features &= ~virtio::kFeatureRingIndirectDesc;
  if ((choice & 2) == 0) features &= ~virtio::kFeatureRingEventIdx;
  if ((choice & 4) == 0) features &= ~virtio::kBlkFeatureFlush;
  if (!fakes::Negotiate(device, features)) std::abort();
  fakes::SetUpQueue(device, 0,
                    {.size = kQueueSize,
                     .descriptor_area = GuestAddr(0),
                     .driver_area = GuestAddr(kAvailable),
                     .device_area = GuestAddr(kUsed)});
  fakes::AddStatus(device, virtio::kStatusDriverOk);
  WaitUntilTaken(device.kick_event(0));
  device.WriteStatus(0);
  if (device.status() != 0) std::abort();
  CheckDisk(*disk);
}

std::vector<std::vector<std::byte>> ChainSeeds() {
  std::vector<std::vector<std::byte>> seeds;
  for (const bool indirect : {false, true}) {
    seeds.push_back(Seed(BlkRequestType::kIn, 0, 512, indirect));
    seeds.push_back(Seed(BlkRequestType::kOut, 512, 0, indirect));
    seeds.push_back(Seed(BlkRequestType::kFlush, 0, 0, indirect));
    seeds.push_back(Seed(BlkRequestType::kGetId, 0, 20, indirect));
    seeds.push_back(Seed(BlkRequestType::kDiscard, 16, 0, indirect));
    seeds.push_back(Seed(BlkRequestType::kWriteZeroes, 16, 0, indirect));
  }
  return seeds;
}

}  // namespace skiff::fuzz
