#include "disk/tool/io/block_options.h"

#include <nlohmann/json.hpp>

namespace skiff::io {
namespace {

using Json = nlohmann::json;

constexpr int kDeepest = 32;  // of nested options

constexpr std::string_view kJson = "json:";
constexpr std::string_view kFile = "file:";

// Takes one "name=value" and the comma after it.
std::string TakeItem(std::string_view& text) {
  std::string item;
  while (!text.empty()) {
    const bool comma = text.front() == ',';
    if (comma && !text.starts_with(",,")) {
      text.remove_prefix(1);
      break;
    }
    item.push_back(text.front());
    text.remove_prefix(comma ? 2 : 1);
  }
  return item;
}

// QEMU's JSON has strings in single quotes too.
std::string WithDoubleQuotes(std::string_view text) {
  std::string json;
  char quote = 0;  // that the string we are in began with
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '\\' && quote != 0 && i + 1 < text.size()) {
      ++i;
      json += text[i] == '\'' ? "'" : std::string{c, text[i]};
    } else if (c == '"' && quote == '\'') {
      json += "\\\"";
    } else if (quote == 0 && (c == '\'' || c == '"')) {
      quote = c;
      json += '"';
    } else if (c == quote) {
      quote = 0;
      json += '"';
    } else {
      json += c;
    }
  }
  return json;
}

std::string Scalar(const Json& value) {
  if (value.is_string()) return value.get<std::string>();
  if (value.is_boolean()) return value.get<bool>() ? "on" : "off";
  return value.dump(-1, ' ', false, Json::error_handler_t::replace);
}

// {"file": {"filename": "x"}, "list": ["y"]} becomes file.filename and list.0. False: too deep.
bool Flatten(const Json& value, const std::string& prefix, int depth, BlockOptions& options) {
  if (depth > kDeepest) return false;
  for (const auto& [key, member] : value.items()) {
    const std::string name = prefix + key;
    if (!member.is_structured()) {
      options[name] = Scalar(member);
    } else if (!Flatten(member, name + ".", depth + 1, options)) {
      return false;
    }
  }
  return true;
}

Result<BlockOptions> ParseJson(std::string_view text) {
  if (text.empty()) return Invalid("Could not parse the JSON options: Expecting a JSON value");
  const Json json = Json::parse(WithDoubleQuotes(text), nullptr, /*allow_exceptions=*/false);
  if (json.is_discarded())
    return Invalid("Could not parse the JSON options: JSON parse error, invalid text");
  if (!json.is_object()) return Invalid("Invalid JSON object given");
  BlockOptions options;
  if (!Flatten(json, "", 0, options))
    return Invalid("Could not parse the JSON options: JSON parse error, too deep");
  return options;
}

}  // namespace

BlockOptions ParseOptionString(std::string_view text) {
  BlockOptions options;
  while (!text.empty()) {
    const std::string item = TakeItem(text);
    const size_t equals = item.find('=');
    if (item.empty()) continue;
    options[item.substr(0, equals)] = equals == std::string::npos ? "on" : item.substr(equals + 1);
  }
  return options;
}

Result<BlockOptions> ParseImageName(std::string_view name) {
  if (name.starts_with(kJson)) return ParseJson(name.substr(kJson.size()));
  const size_t special = name.find_first_of(":/");
  const bool protocol = special != std::string_view::npos && name[special] == ':';
  if (protocol && !name.starts_with(kFile))
    return Unsupported("Unknown protocol '" + std::string(name.substr(0, special)) + "'");
  if (protocol) name.remove_prefix(kFile.size());
  if (name.empty()) return Invalid("The 'file' block driver requires a file name");
  return BlockOptions{{"file.filename", std::string(name)}};
}

}  // namespace skiff::io
