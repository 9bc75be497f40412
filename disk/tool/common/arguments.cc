#include "disk/tool/common/arguments.h"

#include <getopt.h>

#include <algorithm>
#include <cstring>

namespace skiff::tool {
namespace {

constexpr int kFirstLong = 256;  // above all letters

bool IsLetter(const OptionSpec& spec) { return std::strlen(spec.name) == 1; }

char LetterOf(const OptionSpec& spec) { return IsLetter(spec) ? spec.name[0] : spec.letter; }

}  // namespace

Result<Arguments> Arguments::Parse(int argc, char** argv, const std::vector<OptionSpec>& options) {
  std::string letters = ":";
  std::vector<option> table;
  for (size_t n = 0; n < options.size(); ++n) {
    const OptionSpec& spec = options[n];
    if (const char letter = LetterOf(spec); letter != 0)
      letters += std::string(1, letter) + (spec.takes_value ? ":" : "");
    if (!IsLetter(spec))
      table.push_back({spec.name, spec.takes_value ? required_argument : no_argument, nullptr,
                       kFirstLong + static_cast<int>(n)});
  }
  table.push_back({nullptr, 0, nullptr, 0});

  Arguments arguments;
  optind = 0;  // from the start, whoever parsed before
  opterr = 0;
  for (int found = 0;
       (found = getopt_long(argc, argv, letters.c_str(), table.data(), nullptr)) != -1;) {
    const std::string word = argv[std::max(1, optind - 1)];
    if (found == ':') return Invalid("missing argument for option '" + word + "'");
    if (found == '?') return Invalid("unrecognized option '" + word + "'");
    const auto spec = std::find_if(options.begin(), options.end(), [&](const OptionSpec& one) {
      return found >= kFirstLong ? &one == &options[static_cast<size_t>(found - kFirstLong)]
                                 : LetterOf(one) == found;
    });
    arguments.given_.emplace_back(spec->name, optarg == nullptr ? "" : optarg);
  }
  for (int n = optind; n < argc; ++n) arguments.names_.emplace_back(argv[n]);
  return arguments;
}

bool Arguments::Has(std::string_view option) const {
  return std::any_of(given_.begin(), given_.end(),
                     [&](const auto& one) { return one.first == option; });
}

std::string Arguments::Value(std::string_view option, std::string otherwise) const {
  const auto found = std::find_if(given_.rbegin(), given_.rend(),
                                  [&](const auto& one) { return one.first == option; });
  return found == given_.rend() ? std::move(otherwise) : found->second;
}

std::vector<std::string> Arguments::Values(std::string_view option) const {
  std::vector<std::string> values;
  for (const auto& [name, value] : given_)
    if (name == option) values.push_back(value);
  return values;
}

}  // namespace skiff::tool
