// Commands that open and close images.

#include "disk/tool/io/command.h"
#include "disk/tool/io/modes.h"

namespace skiff::io {
namespace {

Result<void> Told(const Session& session, const Result<void>& result) {
  if (result.ok()) return {};
  session.Complain(result.error().message());
  return AlreadyTold();
}

// One option of `open`.
Result<void> SetOpenOption(int letter, const Arguments& arguments, ImageRequest& request) {
  switch (letter) {
    case 's':
      request.snapshot = true;
      return {};
    case 'n':
      request.cache = CacheMode::kNone;
      return {};
    case 'r':
      request.read_only = true;
      return {};
    case 'k':
      request.native_aio = true;
      return {};
    case 'U':
      request.force_share = true;
      return {};
    case 't':
      return SetCache(arguments.value(), request);
    case 'd':
      return SetDiscard(arguments.value(), request);
    case 'i':
      return SetAio(arguments.value(), request);
    case 'o':
      for (auto& [key, value] : ParseOptionString(arguments.value())) request.options[key] = value;
      return {};
    default:  // -C: copying on read changes nothing that can be seen here
      return {};
  }
}

// What `reopen` changes.
struct Changes {
  std::optional<bool> read_only;
  std::optional<std::string> cache;
  BlockOptions options;
};

Result<Changes> ParseChanges(Arguments& arguments) {
  Changes changes;
  for (int letter = 0; (letter = arguments.NextOption("c:ro:w")) >= 0;) {
    switch (letter) {
      case 'c':
        changes.cache = arguments.value();
        break;
      case 'o':
        changes.options = ParseOptionString(arguments.value());
        break;
      case 'r':
      case 'w':
        if (changes.read_only) return Unsupported("Only one -r/-w option may be given");
        changes.read_only = letter == 'r';
        break;
      default:
        return WrongUsage(arguments);
    }
  }
  if (!arguments.Operands().empty()) return WrongUsage(arguments);
  return changes;
}

Error CannotChange(const std::string& name) {
  return Unsupported("Cannot change the option '" + name + "'");
}

Result<ImageRequest> Apply(const Changes& changes, const ImageRequest& before) {
  ImageRequest request = before;
  if (changes.cache) TRY(SetCache(*changes.cache, request));
  if (changes.read_only) request.read_only = *changes.read_only;
  for (const auto& [name, value] : changes.options) {
    const bool cache = name.starts_with("cache.");
    if (cache && changes.cache) return Invalid("Cannot set both -c and the cache options");
    if (name == "read-only" && changes.read_only)
      return Invalid("Cannot set both -r/-w and 'read-only'");
    if (!CanChange(name)) return CannotChange(name.starts_with("file.") ? name.substr(5) : name);
    request.options[name] = value;
    if (name == "read-only") request.read_only = value == "on";
  }
  TRY(MakePlan(request));
  return request;
}

}  // namespace

Result<void> OpenCommand(Session& session, Arguments& arguments) {
  ImageRequest request;
  for (int letter = 0; (letter = arguments.NextOption("snCro:ki:t:d:U")) >= 0;) {
    if (letter == '?') return WrongUsage(arguments);
    TRY(Told(session, SetOpenOption(letter, arguments, request)));
  }
  const std::vector<std::string> operands = arguments.Operands();
  if (operands.size() > 1 || (operands.empty() && request.options.empty()))
    return WrongUsage(arguments);
  if (!operands.empty()) request.name = operands[0];
  if (session.image) {
    session.Complain("file open already, try 'help close'");
    return AlreadyTold();
  }
  return OpenAndTell(session, request);
}

// The image is closed and opened anew, so a failure to open leaves none.
Result<void> Reopen(Session& session, Arguments& arguments) {
  const Result<Changes> changes = ParseChanges(arguments);
  if (!changes.ok() && changes.error().code() != ErrorCode::kUnsupported) return changes.error();
  if (!changes.ok()) return Told(session, changes.error());
  const Result<ImageRequest> request = Apply(*changes, session.image->request);
  if (!request.ok()) return Told(session, request.error());
  TRY(CloseAndTell(session));
  return OpenAndTell(session, *request);
}

Result<void> CloseCommand(Session& session, Arguments& /*arguments*/) {
  return CloseAndTell(session);
}

}  // namespace skiff::io
