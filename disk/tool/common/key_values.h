#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"

namespace skiff::tool {

// "a=1,b,c=x,,y": what `-o` and `--image-opts` take. A comma in a value is written twice; a key
// without a value means on ("nokey": off).
class KeyValues {
 public:
  static Result<KeyValues> Parse(std::string_view text);

  void Add(std::string key, std::string value) {
    pairs_.emplace_back(std::move(key), std::move(value));
  }
  void Append(const KeyValues& more);
  // Of the last one with this key, which counts as used.
  std::optional<std::string> Take(std::string_view key);
  // The same as on or off. kInvalid in QEMU's words if it is neither.
  Result<std::optional<bool>> TakeSwitch(std::string_view key);
  // A key that nobody took; empty: none.
  std::string Unused() const;

 private:
  std::vector<std::pair<std::string, std::string>> pairs_;
};

}  // namespace skiff::tool
