#pragma once

#include <optional>
#include <string>
#include <vector>

#include "disk/tool/io/command.h"
#include "disk/tool/io/report.h"

namespace skiff::io {

// The longest transfer of one command, as QEMU has it: INT_MAX in whole sectors.
inline constexpr uint64_t kLongestTransfer = 0x7ffffe00;

// The options of all commands that read and write. Each command takes some of them.
struct TransferOptions {
  bool vm_state = false;              // -b
  bool compressed = false;            // -c
  bool force_unit_access = false;     // -f
  bool invalid = false;               // -i
  bool no_fallback = false;           // -n
  bool may_unmap = false;             // -u
  bool dump = false;                  // -v
  bool zeroes = false;                // -z
  std::optional<uint8_t> pattern;     // -P
  std::optional<std::string> start;   // -s: where the pattern begins, or a file of it
  std::optional<std::string> length;  // -l: of the pattern
  ReportStyle style = ReportStyle::kHuman;
};

// `letters`: what the command takes, for getopt. The error is the usage, or what is wrong.
Result<TransferOptions> ParseTransferOptions(Arguments& arguments, const char* letters);

// Where on the disk, and in how many pieces.
struct Place {
  uint64_t offset = 0;
  std::vector<uint64_t> lengths;
  uint64_t total = 0;
};

// One length. `longest_name` goes into the error: "2147483136 without -n".
Result<Place> ParsePlace(const Arguments& arguments, uint64_t longest,
                         const std::string& longest_name = "");
// One length or more.
Result<Place> ParsePieces(const Arguments& arguments);

// Fails unless the place is whole sectors.
Result<void> CheckSectors(const Place& place);

}  // namespace skiff::io
