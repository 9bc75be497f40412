#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"

namespace skiff::tool {

// An option of a subcommand. `name`: its long name, or one letter; `letter`: what it is the same
// as, or 0.
struct OptionSpec {
  const char* name;
  bool takes_value;
  char letter = 0;
};

// A subcommand's words, sorted: options may stand anywhere, long ones may be cut short.
class Arguments {
 public:
  // argv[0] is the subcommand's name. kInvalid in QEMU's words.
  static Result<Arguments> Parse(int argc, char** argv, const std::vector<OptionSpec>& options);

  bool Has(std::string_view option) const;
  // Of the last one given; `otherwise` if there is none.
  std::string Value(std::string_view option, std::string otherwise = "") const;
  std::vector<std::string> Values(std::string_view option) const;
  const std::vector<std::string>& names() const { return names_; }  // what is no option

 private:
  std::vector<std::pair<std::string, std::string>> given_;  // by name as in the OptionSpec
  std::vector<std::string> names_;
};

}  // namespace skiff::tool
