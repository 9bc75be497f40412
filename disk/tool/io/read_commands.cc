#include <memory>

#include "disk/tool/io/numbers.h"
#include "disk/tool/io/transfer_arguments.h"

namespace skiff::io {
namespace {

// The part of what is read that must have the pattern.
struct Expectation {
  uint8_t pattern;
  uint64_t start;
  uint64_t length;
};

Result<std::optional<Expectation>> ParseExpectation(const TransferOptions& options,
                                                    const Arguments& arguments, uint64_t total) {
  const uint64_t start = options.start ? TRY(ParseSize(*options.start)) : 0;
  const std::optional<uint64_t> length =
      options.length ? std::optional(TRY(ParseSize(*options.length))) : std::nullopt;
  if (!options.pattern && (options.start || options.length)) return WrongUsage(arguments);
  if (start > total || length.value_or(0) > total - start)
    return Invalid("pattern verification range exceeds end of read data");
  if (!options.pattern) return std::optional<Expectation>();
  return std::optional(Expectation{*options.pattern, start, length.value_or(total - start)});
}

// A read that a command asked for.
class ReadJob {
 public:
  ReadJob(const Place& place, const TransferOptions& options,
          std::optional<Expectation> expectation, Placement placement)
      : place_(place),
        options_(options),
        expectation_(expectation),
        buffer_(place_.lengths, placement) {}

  Transfer transfer() const {
    Transfer transfer;
    transfer.op = BlockOp::kRead;
    transfer.at = place_.offset;
    transfer.length = place_.total;
    transfer.buffers = buffer_.pieces();
    return transfer;
  }

  // Checks, dumps and reports what was read. False: it is not what was expected; that was told.
  bool Finish() {
    const bool as_expected = !expectation_ || Matches(*expectation_);
    if (!as_expected) PrintMismatch(place_.offset + expectation_->start, expectation_->length);
    if (options_.style == ReportStyle::kNone) return as_expected;
    if (options_.dump) Dump(buffer_.bytes(), place_.offset);
    Print({"read", place_.offset, place_.total, start_, options_.style});
    return as_expected;
  }

 private:
  bool Matches(const Expectation& expected) {
    return AllAre(buffer_.bytes().subspan(expected.start, expected.length),
                  std::byte{expected.pattern});
  }

  const Place place_;
  const TransferOptions options_;
  const std::optional<Expectation> expectation_;
  Buffer buffer_;
  const Clock::time_point start_ = Clock::now();
};

Result<void> ReadAndTell(Session& session, const std::string& name, const Place& place,
                         const TransferOptions& options, std::optional<Expectation> expectation) {
  Disk& disk = *session.image->disk;
  // Before memory is taken for what cannot be read.
  const Result<void> on_disk = disk.CheckRange(place.offset, place.total);
  if (!on_disk.ok()) return Failure(name, on_disk.error());
  ReadJob job(place, options, expectation, session.placement);
  const Result<void> read = disk.Perform(job.transfer());
  if (!read.ok()) return Failure(name, read.error());
  return job.Finish() ? Result<void>() : AlreadyTold();
}

}  // namespace

Result<void> Read(Session& session, Arguments& arguments) {
  const TransferOptions options = TRY(ParseTransferOptions(arguments, "bCl:pP:qs:v"));
  const Place place = TRY(ParsePlace(arguments, kLongestTransfer));
  const auto expectation = TRY(ParseExpectation(options, arguments, place.total));
  if (options.vm_state) {
    TRY(CheckSectors(place));
    return Failure("read", Unsupported(""));  // the seam: an engine has no call for it
  }
  return ReadAndTell(session, "read", place, options, expectation);
}

Result<void> ReadVector(Session& session, Arguments& arguments) {
  const TransferOptions options = TRY(ParseTransferOptions(arguments, "CP:qv"));
  const Place place = TRY(ParsePieces(arguments));
  const auto expectation = TRY(ParseExpectation(options, arguments, place.total));
  return ReadAndTell(session, "readv", place, options, expectation);
}

Result<void> AsyncRead(Session& session, Arguments& arguments) {
  const TransferOptions options = TRY(ParseTransferOptions(arguments, "CP:iqv"));
  if (options.invalid) {
    std::puts("injecting invalid read request");
    return {};
  }
  const Place place = TRY(ParsePieces(arguments));
  const auto expectation = TRY(ParseExpectation(options, arguments, place.total));
  const auto job = std::make_shared<ReadJob>(place, options, expectation, session.placement);
  session.image->disk->Start(job->transfer(), [job](const Result<void>& read) {
    if (read.ok()) {
      job->Finish();
    } else {
      std::puts(Failure("readv", read.error()).message().c_str());
    }
  });
  return {};
}

Result<void> AsyncFlush(Session& session, Arguments& /*arguments*/) {
  session.image->disk->Drain();
  return {};
}

}  // namespace skiff::io
