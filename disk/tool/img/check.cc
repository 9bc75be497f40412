// skiff-img check

#include "disk/qcow2/check/check.h"

#include <fmt/format.h>

#include <cstdio>
#include <nlohmann/json.hpp>

#include "disk/qcow2/header.h"
#include "disk/tool/common/program.h"
#include "disk/tool/img/commands.h"
#include "disk/tool/img/help.h"
#include "disk/tool/img/one_image.h"
#include "disk/tool/img/output_format.h"

namespace skiff::tool {
namespace {

using qcow2::CheckReport;
using qcow2::Repair;

constexpr int kCorruptions = 2;
constexpr int kLeaks = 3;
constexpr int kNoChecks = 63;

const std::vector<OptionSpec> kOptions = {
    {"help", false, 'h'},  {"f", true},
    {"r", true},           {"repair", true},
    {"q", false},          {"T", true},
    {"output", true},      {"object", true},
    {"image-opts", false}, {"force-share", false, 'U'},
};

Result<Repair> RepairOf(const Arguments& arguments) {
  const std::string word = arguments.Value("r", arguments.Value("repair"));
  if (word.empty()) return Repair::kNothing;
  if (word == "leaks") return Repair::kLeaks;
  if (word == "all") return Repair::kAll;
  return Invalid("Unknown option value for -r (expecting 'leaks' or 'all'): " + word);
}

// In the order of qemu-img's.
std::string AsJson(const CheckReport& report, const ImageSource& source) {
  nlohmann::ordered_json json;
  const auto put = [&](const char* key, uint64_t value) {
    if (value != 0) json[key] = value;
  };
  put("image-end-offset", report.image_end_offset);
  put("compressed-clusters", report.compressed_clusters);
  put("total-clusters", report.total_clusters);
  put("corruptions-fixed", report.corruptions_fixed);
  put("corruptions", report.corruptions);
  json["check-errors"] = report.check_errors;
  put("leaks-fixed", report.leaks_fixed);
  put("leaks", report.leaks);
  put("allocated-clusters", report.allocated_clusters);
  json["filename"] = source.name;
  json["format"] = "qcow2";
  put("fragmented-clusters", report.fragmented_clusters);
  return json.dump(4, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

double Percent(uint64_t part, uint64_t whole) {
  return static_cast<double>(part) * 100.0 / static_cast<double>(whole);
}

std::string AsText(const CheckReport& report) {
  std::string text;
  if (report.corruptions == 0 && report.leaks == 0 && report.check_errors == 0)
    text += "No errors were found on the image.\n";
  if (report.corruptions != 0)
    text += fmt::format(
        "\n{} errors were found on the image.\nData may be corrupted, or further writes to the "
        "image may corrupt it.\n",
        report.corruptions);
  if (report.leaks != 0)
    text += fmt::format(
        "\n{} leaked clusters were found on the image.\nThis means waste of disk space, but no "
        "harm to data.\n",
        report.leaks);
  if (report.check_errors != 0)
    text +=
        fmt::format("\n{} internal errors have occurred during the check.\n", report.check_errors);
  if (report.total_clusters != 0 && report.allocated_clusters != 0)
    text +=
        fmt::format("{}/{} = {:.2f}% allocated, {:.2f}% fragmented, {:.2f}% compressed clusters\n",
                    report.allocated_clusters, report.total_clusters,
                    Percent(report.allocated_clusters, report.total_clusters),
                    Percent(report.fragmented_clusters, report.allocated_clusters),
                    Percent(report.compressed_clusters, report.allocated_clusters));
  if (report.image_end_offset != 0)
    text += fmt::format("Image end offset: {}\n", report.image_end_offset);
  return text;
}

int StatusOf(const CheckReport& report) {
  if (report.check_errors != 0) return 1;
  if (report.corruptions != 0) return kCorruptions;
  return report.leaks != 0 ? kLeaks : 0;
}

class Checker {
 public:
  Checker(const ImageSource& source, Repair repair, bool json, bool quiet)
      : source_(source), repair_(repair), json_(json), quiet_(quiet) {}

  Result<int> Run() {
    const std::unique_ptr<File> file = TRY(OpenFile(source_));
    if (TRY(FormatOf(source_, *file)) != ImageFormat::kQcow2) {
      PrintError("This image format does not support checks");
      return kNoChecks;
    }
    const auto header = qcow2::Header::Read(*file);
    if (!header.ok())
      return Error(header.error().code(),
                   "Could not open '" + source_.name + "': " + header.error().message());
    CheckReport report = TRY(Check(*file, repair_));
    const uint64_t leaks_fixed = report.leaks_fixed;
    const uint64_t corruptions_fixed = report.corruptions_fixed;
    if (leaks_fixed != 0 || corruptions_fixed != 0) {
      if (!json_)
        Print(
            fmt::format("The following inconsistencies were found and repaired:\n\n    {} leaked "
                        "clusters\n    {} corruptions\n\nDouble checking the fixed image "
                        "now...\n",
                        leaks_fixed, corruptions_fixed));
      report = TRY(Check(*file, Repair::kNothing));
      report.leaks_fixed = leaks_fixed;
      report.corruptions_fixed = corruptions_fixed;
    }
    Print(json_ ? AsJson(report, source_) : AsText(report));
    return StatusOf(report);
  }

 private:
  // Lines about what is wrong are shown in any case; many of them go in one call.
  Result<CheckReport> Check(File& file, Repair repair) {
    std::string lines;
    const auto flush = [&] {
      std::fflush(stdout);
      std::fwrite(lines.data(), 1, lines.size(), stderr);
      lines.clear();
    };
    Result<CheckReport> report = qcow2::CheckImage(file, repair, [&](const std::string& line) {
      lines += line + "\n";
      if (lines.size() > 64 * 1024) flush();
    });
    flush();
    if (!report.ok()) return std::move(report).error().While("Check failed");
    return report;
  }

  void Print(const std::string& text) const {
    if (!quiet_) std::fputs(text.c_str(), stdout);
  }

  const ImageSource& source_;
  const Repair repair_;
  const bool json_;
  const bool quiet_;
};

Result<int> RunCheck(const Arguments& arguments, Repair repair) {
  const bool json = TRY(WantsJson(arguments));
  ImageSource source = TRY(SourceOf(arguments, 0, "T"));
  source.writable = repair != Repair::kNothing;
  return Checker(source, repair, json, arguments.Has("q")).Run();
}

}  // namespace

int CheckCommand(int argc, char** argv) {
  const Result<Arguments> arguments = Arguments::Parse(argc, argv, kOptions);
  if (!arguments.ok()) return FailUsage(arguments.error().message());
  if (arguments->Has("help")) return PrintHelp();
  if (arguments->names().size() != 1) return FailUsage("Expecting one image file name");
  const Result<Repair> repair = RepairOf(*arguments);
  if (!repair.ok()) return FailUsage(repair.error().message());
  const Result<int> status = RunCheck(*arguments, *repair);
  return status.ok() ? *status : Fail(status.error().message());
}

}  // namespace skiff::tool
