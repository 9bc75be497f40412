#include "disk/tool/common/key_values.h"

#include <algorithm>

namespace skiff::tool {
namespace {

// Up to the next single comma, which is taken too.
std::string TakeItem(std::string_view& text) {
  std::string item;
  while (!text.empty()) {
    const char c = text.front();
    text.remove_prefix(1);
    if (c == ',') {
      if (!text.starts_with(',')) break;
      text.remove_prefix(1);
    }
    item += c;
  }
  return item;
}

}  // namespace

Result<KeyValues> KeyValues::Parse(std::string_view text) {
  KeyValues result;
  while (!text.empty()) {
    const std::string item = TakeItem(text);
    const size_t equals = item.find('=');
    const std::string key = item.substr(0, equals);
    if (key.empty()) return Invalid("Invalid parameter ''");
    if (equals != std::string::npos) {
      result.Add(key, item.substr(equals + 1));
    } else if (key.starts_with("no") && key.size() > 2) {
      result.Add(key.substr(2), "off");
    } else {
      result.Add(key, "on");
    }
  }
  return result;
}

void KeyValues::Append(const KeyValues& more) {
  pairs_.insert(pairs_.end(), more.pairs_.begin(), more.pairs_.end());
}

std::optional<std::string> KeyValues::Take(std::string_view key) {
  std::optional<std::string> value;
  const auto is_key = [&](const auto& pair) { return pair.first == key; };
  for (const auto& pair : pairs_)
    if (is_key(pair)) value = pair.second;
  pairs_.erase(std::remove_if(pairs_.begin(), pairs_.end(), is_key), pairs_.end());
  return value;
}

Result<std::optional<bool>> KeyValues::TakeSwitch(std::string_view key) {
  const std::optional<std::string> value = Take(key);
  if (!value) return std::optional<bool>();
  if (*value == "on" || *value == "yes" || *value == "true" || *value == "y")
    return std::optional(true);
  if (*value == "off" || *value == "no" || *value == "false" || *value == "n")
    return std::optional(false);
  return Invalid("Parameter '" + std::string(key) + "' expects 'on' or 'off'");
}

std::string KeyValues::Unused() const { return pairs_.empty() ? "" : pairs_.front().first; }

}  // namespace skiff::tool
