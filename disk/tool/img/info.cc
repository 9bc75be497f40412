// skiff-img info

#include <cstdio>
#include <set>

#include "disk/tool/common/program.h"
#include "disk/tool/img/commands.h"
#include "disk/tool/img/help.h"
#include "disk/tool/img/info_report.h"
#include "disk/tool/img/one_image.h"
#include "disk/tool/img/output_format.h"

namespace skiff::tool {
namespace {

const std::vector<OptionSpec> kOptions = {
    {"help", false, 'h'},  {"f", true},
    {"format", true},      {"output", true},
    {"object", true},      {"backing-chain", false},
    {"image-opts", false}, {"force-share", false, 'U'},
};

// All files of the chain, top first, or only the first.
Result<std::vector<InfoReport>> ReadAll(ImageSource source, bool chain) {
  std::vector<InfoReport> reports;
  std::set<std::string> seen;
  for (;;) {
    if (!seen.insert(source.path).second)
      return Invalid("Backing file '" + source.path + "' creates an infinite loop.");
    reports.push_back(TRY(ReadInfo(source)));
    const InfoReport& report = reports.back();
    if (!chain || report.full_backing_name.empty()) return reports;
    const std::string format = report.header->backing_format;
    const bool share = source.force_share;
    source = TRY(ParseSource(report.full_backing_name, format, ""));
    source.force_share = share;
  }
}

Result<void> RunInfo(const Arguments& arguments) {
  const bool json = TRY(WantsJson(arguments));
  const bool chain = arguments.Has("backing-chain");
  const ImageSource source = TRY(SourceOf(arguments));
  const auto reports = TRY(ReadAll(source, chain));
  if (json) {
    std::fputs(AsJson(reports, chain).c_str(), stdout);
    return {};
  }
  for (const InfoReport& report : reports)
    std::printf("%s%s", &report == &reports.front() ? "" : "\n", AsText(report).c_str());
  return {};
}

}  // namespace

int InfoCommand(int argc, char** argv) {
  const Result<Arguments> arguments = Arguments::Parse(argc, argv, kOptions);
  if (!arguments.ok()) return FailUsage(arguments.error().message());
  if (arguments->Has("help")) return PrintHelp();
  if (arguments->names().size() != 1) return FailUsage("Expecting one image file name");
  const Result<void> done = RunInfo(*arguments);
  return done.ok() ? 0 : Fail(done.error().message());
}

}  // namespace skiff::tool
