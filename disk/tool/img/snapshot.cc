// skiff-img snapshot

#include <algorithm>
#include <chrono>
#include <cstdio>

#include "disk/chain.h"
#include "disk/qcow2/image.h"
#include "disk/tool/common/program.h"
#include "disk/tool/img/commands.h"
#include "disk/tool/img/help.h"
#include "disk/tool/img/info_report.h"
#include "disk/tool/img/one_image.h"

namespace skiff::tool {
namespace {

const std::vector<OptionSpec> kOptions = {
    {"help", false, 'h'}, {"a", true},           {"c", true},
    {"d", true},          {"l", false},          {"q", false},
    {"object", true},     {"image-opts", false}, {"force-share", false, 'U'},
};

qcow2::Snapshot Named(const std::string& name) {
  using std::chrono::duration_cast;
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  const auto seconds = duration_cast<std::chrono::seconds>(now);
  qcow2::Snapshot snapshot;
  snapshot.name = name;
  snapshot.date_sec = static_cast<uint32_t>(seconds.count());
  snapshot.date_nsec =
      static_cast<uint32_t>(duration_cast<std::chrono::nanoseconds>(now - seconds).count());
  snapshot.icount = 0;  // qemu-img's value for a disk without a machine
  return snapshot;
}

// qemu-img deletes by name only, and applies by id too.
Result<void> Require(const Arguments& arguments, const std::vector<qcow2::Snapshot>& snapshots) {
  const std::string name = arguments.Value("d");
  const bool named = std::any_of(snapshots.begin(), snapshots.end(),
                                 [&](const auto& one) { return one.name == name; });
  if (arguments.Has("d") && !named) return Invalid("snapshot not found");
  if (arguments.Has("a") && qcow2::FindSnapshot(snapshots, arguments.Value("a")) == nullptr)
    return Invalid("Failed to load snapshot: No such file or directory");
  return {};
}

// Closing is a part of the change: it makes the rest durable.
Result<void> ChangeAndClose(const Arguments& arguments, Image& opened) {
  auto* const image = dynamic_cast<qcow2::Qcow2Image*>(&opened);
  if (image == nullptr) return Unsupported("the image format has no snapshots");
  const std::vector<qcow2::Snapshot> snapshots = TRY(image->Snapshots());
  TRY(Require(arguments, snapshots));
  Result<void> changed;
  if (arguments.Has("c")) changed = image->CreateSnapshot(Named(arguments.Value("c")));
  if (arguments.Has("a")) changed = image->ApplySnapshot(arguments.Value("a"));
  if (arguments.Has("d")) changed = image->DeleteSnapshot(arguments.Value("d"));
  Result<void> closed = image->Close();
  TRY(std::move(changed));
  return closed;
}

Error WithWhat(const Arguments& arguments, const Error& why) {
  for (const auto& [option, verb] : {std::pair{"c", "create"}, {"a", "apply"}, {"d", "delete"}}) {
    if (arguments.Has(option))
      return {why.code(), std::string("Could not ") + verb + " snapshot '" +
                              arguments.Value(option) + "': " + Words(why)};
  }
  return why;
}

Result<void> RunSnapshot(const Arguments& arguments) {
  ImageSource source = TRY(SourceOf(arguments));
  const bool changes = arguments.Has("a") || arguments.Has("c") || arguments.Has("d");
  if (!changes && !arguments.Has("l")) return {};
  if (!changes) {
    const InfoReport report = TRY(ReadInfo(source));
    std::fputs(SnapshotList(report.snapshots).c_str(), stdout);
    return {};
  }
  source.writable = true;
  const std::unique_ptr<Image> image = TRY(OpenChainOf(source));
  const Result<void> changed = ChangeAndClose(arguments, *image);
  if (!changed.ok()) return WithWhat(arguments, changed.error());
  return {};
}

}  // namespace

int SnapshotCommand(int argc, char** argv) {
  const Result<Arguments> arguments = Arguments::Parse(argc, argv, kOptions);
  if (!arguments.ok()) return FailUsage(arguments.error().message());
  if (arguments->Has("help")) return PrintHelp();
  int actions = 0;
  for (const char* action : {"a", "c", "d", "l"}) actions += arguments->Has(action) ? 1 : 0;
  if (actions > 1) return FailUsage("Cannot mix '-l', '-a', '-c', '-d'");
  if (arguments->names().size() != 1) return FailUsage("Expecting one image file name");
  const Result<void> done = RunSnapshot(*arguments);
  return done.ok() ? 0 : Fail(done.error().message());
}

}  // namespace skiff::tool
