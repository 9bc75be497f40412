#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>

#include "disk/tool/io/numbers.h"
#include "disk/tool/io/transfer_arguments.h"

namespace skiff::io {
namespace {

constexpr uint8_t kDefaultPattern = 0xcd;

struct CloseStream {
  void operator()(std::FILE* file) const { std::fclose(file); }
};
using Stream = std::unique_ptr<std::FILE, CloseStream>;

// The first `most` bytes of the file. The error is told.
Result<std::vector<std::byte>> ReadPatternFile(const std::string& path, uint64_t most) {
  const Stream file(std::fopen(path.c_str(), "rb"));
  std::vector<std::byte> bytes(file != nullptr ? most : 0);
  if (file != nullptr) bytes.resize(std::fread(bytes.data(), 1, bytes.size(), file.get()));
  const bool failed = file == nullptr || std::ferror(file.get()) != 0;
  if (failed || bytes.empty()) {
    std::fprintf(stderr, "%s: %s\n", path.c_str(), failed ? std::strerror(errno) : "file is empty");
    return AlreadyTold();
  }
  return bytes;
}

Result<void> CheckFlags(const TransferOptions& options) {
  if (options.vm_state && options.zeroes)
    return Invalid("-b and -z cannot be specified at the same time");
  if (options.force_unit_access && (options.vm_state || options.compressed))
    return Invalid("-f and -b or -c cannot be specified at the same time");
  if (options.no_fallback && !options.zeroes) return Invalid("-n requires -z to be specified");
  if (options.may_unmap && !options.zeroes) return Invalid("-u requires -z to be specified");
  const int contents =
      int{options.zeroes} + int{options.pattern.has_value()} + int{options.start.has_value()};
  if (contents > 1) return Invalid("Only one of -z, -P, and -s can be specified at the same time");
  return {};
}

Transfer TransferFor(const Place& place, const TransferOptions& options) {
  Transfer transfer;
  transfer.op = options.zeroes ? BlockOp::kWriteZeroes : BlockOp::kWrite;
  transfer.at = place.offset;
  transfer.length = place.total;
  transfer.may_unmap = options.may_unmap;
  transfer.force_unit_access = options.force_unit_access;
  return transfer;
}

// The content to write; null for zeroes.
Result<std::unique_ptr<Buffer>> Content(const Session& session, const Place& place,
                                        const TransferOptions& options) {
  if (options.zeroes) return std::unique_ptr<Buffer>();
  auto buffer = std::make_unique<Buffer>(place.lengths, session.placement);
  if (options.start) {
    buffer->Fill(TRY(ReadPatternFile(*options.start, place.total)));
  } else {
    buffer->Fill(std::byte{options.pattern.value_or(kDefaultPattern)});
  }
  return buffer;
}

Result<void> WriteAndTell(Session& session, const std::string& name, const Place& place,
                          const TransferOptions& options) {
  Disk& disk = *session.image->disk;
  // Before memory is taken for what cannot be written.
  const Result<void> on_disk = disk.CheckRange(place.offset, place.total);
  if (!on_disk.ok()) return Failure(name, on_disk.error());
  const std::unique_ptr<Buffer> content = TRY(Content(session, place, options));
  Transfer transfer = TransferFor(place, options);
  if (content != nullptr) transfer.buffers = content->pieces();
  const Clock::time_point start = Clock::now();
  const Result<void> written = disk.Perform(transfer);
  if (!written.ok()) return Failure(name, written.error());
  Print({"wrote", place.offset, place.total, start, options.style});
  return {};
}

}  // namespace

Result<void> Write(Session& session, Arguments& arguments) {
  const TransferOptions options = TRY(ParseTransferOptions(arguments, "bcCfnpP:qs:uz"));
  if (arguments.Operands().size() != 2) return WrongUsage(arguments);
  TRY(CheckFlags(options));
  const bool any_length = options.zeroes && options.no_fallback;
  const Place place = TRY(ParsePlace(arguments, any_length ? INT64_MAX : kLongestTransfer,
                                     options.zeroes ? " without -n" : ""));
  if (options.vm_state || options.compressed) {
    TRY(CheckSectors(place));
    return Failure("write", Unsupported(""));  // the seam for both: an engine has no call for them
  }
  return WriteAndTell(session, "write", place, options);
}

Result<void> WriteVector(Session& session, Arguments& arguments) {
  const TransferOptions options = TRY(ParseTransferOptions(arguments, "CfqP:"));
  const Place place = TRY(ParsePieces(arguments));
  return WriteAndTell(session, "writev", place, options);
}

Result<void> AsyncWrite(Session& session, Arguments& arguments) {
  const TransferOptions options = TRY(ParseTransferOptions(arguments, "CfiqP:uz"));
  if (arguments.Operands().size() < 2) return WrongUsage(arguments);
  if (options.zeroes && arguments.Operands().size() != 2)
    return Invalid("-z supports only a single length parameter");
  if (options.may_unmap && !options.zeroes) return Invalid("-u requires -z to be specified");
  if (options.invalid) {
    std::puts("injecting invalid write request");
    return {};
  }
  const Place place =
      TRY(options.zeroes ? ParsePlace(arguments, INT64_MAX) : ParsePieces(arguments));
  const std::shared_ptr<Buffer> content = TRY(Content(session, place, options));
  Transfer transfer = TransferFor(place, options);
  if (content != nullptr) transfer.buffers = content->pieces();
  const Report report{"wrote", place.offset, place.total, Clock::now(), options.style};
  session.image->disk->Start(transfer, [content, report](const Result<void>& written) {
    if (written.ok()) {
      Print(report);
    } else {
      std::puts(Failure("aio_write", written.error()).message().c_str());
    }
  });
  return {};
}

}  // namespace skiff::io
