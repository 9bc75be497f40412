// Commands about the disk as a whole: its size, what is allocated, its durability.

#include <algorithm>
#include <cinttypes>
#include <cstdio>

#include "disk/tool/io/numbers.h"
#include "disk/tool/io/transfer_arguments.h"

namespace skiff::io {
namespace {

constexpr uint64_t kSector = 512;

bool IsAllocated(const BlockStatus& status) { return status.state != BlockState::kBelow; }

std::string Size(uint64_t bytes) { return FormatSize(static_cast<double>(bytes)); }

struct Extent {
  bool allocated;
  uint64_t length;
};

// The longest stretch from `at` on that is all allocated, or not at all.
Result<Extent> NextExtent(Disk& disk, uint64_t at, uint64_t end) {
  Extent extent{false, 0};
  while (at + extent.length < end) {
    const uint64_t next = at + extent.length;
    const BlockStatus status = TRY(disk.Status(next, end - next));
    if (status.length == 0) break;
    if (extent.length > 0 && IsAllocated(status) != extent.allocated) break;
    extent.allocated = IsAllocated(status);
    extent.length += status.length;
  }
  if (extent.length == 0) return Corrupt("the image says nothing about a range");
  return extent;
}

}  // namespace

Result<void> Flush(Session& session, Arguments& /*arguments*/) {
  const Result<void> flushed = session.image->disk->Perform({});
  if (flushed.ok()) return {};
  session.Complain(Failure("flush", flushed.error()).message());
  return AlreadyTold();
}

Result<void> Discard(Session& session, Arguments& arguments) {
  const TransferOptions options = TRY(ParseTransferOptions(arguments, "Cq"));
  const Place place = TRY(ParsePlace(arguments, kLongestTransfer));
  Transfer transfer;
  transfer.op = BlockOp::kDiscard;
  transfer.at = place.offset;
  transfer.length = place.total;
  const Clock::time_point start = Clock::now();
  Disk& disk = *session.image->disk;
  const Result<void> discarded =
      session.image->discard ? disk.Perform(transfer) : disk.CheckRange(place.offset, place.total);
  if (!discarded.ok()) return Failure("discard", discarded.error());
  Print({"discard", place.offset, place.total, start, options.style});
  return {};
}

Result<void> Truncate(Session& session, Arguments& arguments) {
  for (int letter = 0; (letter = arguments.NextOption("m:")) >= 0;) {
    if (letter != 'm') return WrongUsage(arguments);
    const std::string mode = arguments.value();
    if (mode == "off" || mode == "metadata" || mode == "falloc" || mode == "full") continue;
    session.Complain("Invalid preallocation mode '" + mode + "'");
    return AlreadyTold();
  }
  const std::vector<std::string> operands = arguments.Operands();
  if (operands.empty()) return WrongUsage(arguments);
  const uint64_t size = TRY(ParseSize(operands[0]));
  const Result<void> resized = session.image->disk->Resize(size);
  if (resized.ok()) return {};
  session.Complain(resized.error().message());
  return AlreadyTold();
}

Result<void> Length(Session& session, Arguments& /*arguments*/) {
  std::puts(Size(session.image->disk->limits().size).c_str());
  return {};
}

Result<void> Info(Session& session, Arguments& /*arguments*/) {
  const Result<std::string> text = Describe(*session.image);
  if (text.ok()) {
    std::fputs(text.value().c_str(), stdout);
    return {};
  }
  session.Complain(text.error().message());
  return AlreadyTold();
}

Result<void> Map(Session& session, Arguments& /*arguments*/) {
  Disk& disk = *session.image->disk;
  const uint64_t size = disk.limits().size;
  for (uint64_t at = 0; at < size;) {
    const Result<Extent> extent = NextExtent(disk, at, size);
    if (!extent.ok()) return Invalid("failed to get allocation status: " + CauseOf(extent.error()));
    std::printf("%s (0x%" PRIx64 ") bytes %s at offset %s (0x%" PRIx64 ")\n",
                Size(extent->length).c_str(), extent->length,
                extent->allocated ? "    allocated" : "not allocated", Size(at).c_str(), at);
    at += extent->length;
  }
  return {};
}

Result<void> Alloc(Session& session, Arguments& arguments) {
  while (arguments.NextOption("") >= 0) return WrongUsage(arguments);
  const std::vector<std::string> operands = arguments.Operands();
  if (operands.empty()) return WrongUsage(arguments);
  const uint64_t start = TRY(ParseSize(operands[0]));
  const uint64_t wanted = operands.size() > 1 ? TRY(ParseSize(operands[1])) : kSector;
  Disk& disk = *session.image->disk;
  const uint64_t size = disk.limits().size;
  const uint64_t length = std::min(wanted, size - std::min(start, size));
  uint64_t allocated = 0;
  for (uint64_t done = 0; done < length;) {
    const Result<Extent> extent = NextExtent(disk, start + done, start + length);
    if (!extent.ok()) return Failure("is_allocated", extent.error());
    if (extent->allocated) allocated += extent->length;
    done += extent->length;
  }
  std::printf("%" PRIu64 "/%" PRIu64 " bytes allocated at offset %s\n", allocated, length,
              Size(start).c_str());
  return {};
}

}  // namespace skiff::io
