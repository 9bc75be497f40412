#include "disk/tool/io/transfer_arguments.h"

#include "disk/tool/io/numbers.h"

namespace skiff::io {
namespace {

// False: no such option.
bool SetFlag(int letter, TransferOptions& options) {
  switch (letter) {
    case 'b':
      return options.vm_state = true;
    case 'c':
      return options.compressed = true;
    case 'f':
      return options.force_unit_access = true;
    case 'i':
      return options.invalid = true;
    case 'n':
      return options.no_fallback = true;
    case 'p':
      return true;  // of old: past the format, when that was a choice
    case 'u':
      return options.may_unmap = true;
    case 'v':
      return options.dump = true;
    case 'z':
      return options.zeroes = true;
    default:
      return false;
  }
}

// `quiet` wins over `machine`, in any order.
void SetStyle(ReportStyle style, TransferOptions& options) {
  if (options.style != ReportStyle::kNone) options.style = style;
}

Result<void> SetOption(int letter, const Arguments& arguments, TransferOptions& options) {
  switch (letter) {
    case 'C':
      SetStyle(ReportStyle::kMachine, options);
      return {};
    case 'q':
      SetStyle(ReportStyle::kNone, options);
      return {};
    case 'P':
      options.pattern = TRY(ParsePattern(arguments.value()));
      return {};
    case 's':
      options.start = arguments.value();
      return {};
    case 'l':
      options.length = arguments.value();
      return {};
    default:
      return SetFlag(letter, options) ? Result<void>() : WrongUsage(arguments);
  }
}

Error TooLong(const std::string& limit, const std::string& given) {
  return Invalid("length cannot exceed " + limit + ", given " + given);
}

}  // namespace

Result<TransferOptions> ParseTransferOptions(Arguments& arguments, const char* letters) {
  TransferOptions options;
  for (int letter = 0; (letter = arguments.NextOption(letters)) >= 0;)
    TRY(SetOption(letter, arguments, options));
  return options;
}

Result<Place> ParsePlace(const Arguments& arguments, uint64_t longest,
                         const std::string& longest_name) {
  const std::vector<std::string> operands = arguments.Operands();
  if (operands.size() != 2) return WrongUsage(arguments);
  Place place;
  place.offset = TRY(ParseSize(operands[0]));
  place.total = TRY(ParseSize(operands[1]));
  place.lengths = {place.total};
  if (place.total > longest) return TooLong(std::to_string(longest) + longest_name, operands[1]);
  return place;
}

Result<Place> ParsePieces(const Arguments& arguments) {
  const std::vector<std::string> operands = arguments.Operands();
  if (operands.size() < 2) return WrongUsage(arguments);
  const std::string limit = std::to_string(kLongestTransfer);
  Place place;
  place.offset = TRY(ParseSize(operands[0]));
  for (size_t n = 1; n < operands.size(); ++n) {
    const uint64_t length = TRY(ParseSize(operands[n]));
    if (length > kLongestTransfer)
      return Invalid("Argument '" + operands[n] + "' exceeds maximum size " + limit);
    if (length > kLongestTransfer - place.total)
      return Invalid("The total number of bytes exceed the maximum size " + limit);
    place.lengths.push_back(length);
    place.total += length;
  }
  return place;
}

Result<void> CheckSectors(const Place& place) {
  static constexpr uint64_t kSector = 512;
  if (place.offset % kSector != 0)
    return Invalid(std::to_string(place.offset) + " is not a sector-aligned value for 'offset'");
  if (place.total % kSector != 0)
    return Invalid(std::to_string(place.total) + " is not a sector-aligned value for 'count'");
  return {};
}

}  // namespace skiff::io
