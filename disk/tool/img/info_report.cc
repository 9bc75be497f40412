#include "disk/tool/img/info_report.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <ctime>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/arith.h"
#include "disk/tool/common/size_text.h"

namespace skiff::tool {
namespace {

using Json = nlohmann::ordered_json;
using qcow2::Header;
using qcow2::Snapshot;

constexpr uint64_t kNanosecond = 1'000'000'000;

uint64_t AllocatedBytes(const std::string& path) {
  struct stat facts {};
  return stat(path.c_str(), &facts) == 0 ? static_cast<uint64_t>(facts.st_blocks) * 512 : 0;
}

std::string Resolve(const std::string& overlay, const std::string& name) {
  const size_t colon = name.find(':');
  const bool protocol = colon != std::string::npos && colon < name.find('/');
  if (name.empty() || name.front() == '/' || protocol) return name;
  return (std::filesystem::path(overlay).parent_path() / name).string();
}

const char* OnOff(bool on) { return on ? "true" : "false"; }

// Flags of a bitmap, as the image has them.
std::vector<std::string> FlagNames(uint32_t flags) {
  std::vector<std::string> names;
  if ((flags & 1) != 0) names.emplace_back("in-use");
  if ((flags & 2) != 0) names.emplace_back("auto");
  return names;
}

std::string BitmapText(const qcow2::BitmapDirectory& directory) {
  std::string text = "    bitmaps:\n";
  size_t n = 0;
  for (const auto& bitmap : directory.bitmaps) {
    text += fmt::format("        [{}]:\n            flags:{}\n", n++,
                        FlagNames(bitmap.flags).empty() ? " none" : "");
    size_t flag = 0;
    for (const auto& name : FlagNames(bitmap.flags))
      text += fmt::format("                [{}]: {}\n", flag++, name);
    text += fmt::format("            name: {}\n            granularity: {}\n", bitmap.name,
                        uint64_t{1} << bitmap.granularity_bits);
  }
  return text;
}

std::string SpecificText(const InfoReport& report) {
  const Header& header = *report.header;
  std::string text =
      fmt::format("Format specific information:\n    compat: {}\n    compression type: {}\n",
                  header.version >= 3 ? "1.1" : "0.10",
                  header.compression_type == qcow2::kCompressionZstd ? "zstd" : "zlib");
  if (header.version < 3) return text + "    refcount bits: 16\n";
  text += fmt::format("    lazy refcounts: {}\n",
                      OnOff((header.compatible_features & qcow2::kCompatLazyRefcounts) != 0));
  if (!report.bitmaps.bitmaps.empty()) text += BitmapText(report.bitmaps);
  text += fmt::format("    refcount bits: {}\n    corrupt: {}\n", header.geometry.refcount_bits(),
                      OnOff(header.Has(qcow2::kIncompatCorrupt)));
  if (header.Has(qcow2::kIncompatExternalData))
    text += fmt::format("    data file: {}\n    data file raw: {}\n", header.data_file,
                        OnOff((header.autoclear_features & qcow2::kAutoclearRawExternalData) != 0));
  return text + fmt::format("    extended l2: {}\n", OnOff(header.geometry.extended_l2()));
}

Json SpecificJson(const InfoReport& report) {
  const Header& header = *report.header;
  Json data;
  data["compat"] = header.version >= 3 ? "1.1" : "0.10";
  data["compression-type"] = header.compression_type == qcow2::kCompressionZstd ? "zstd" : "zlib";
  if (header.version >= 3) {
    data["lazy-refcounts"] = (header.compatible_features & qcow2::kCompatLazyRefcounts) != 0;
    for (const auto& bitmap : report.bitmaps.bitmaps)
      data["bitmaps"].push_back(Json{{"flags", FlagNames(bitmap.flags)},
                                     {"name", bitmap.name},
                                     {"granularity", uint64_t{1} << bitmap.granularity_bits}});
  }
  data["refcount-bits"] = header.geometry.refcount_bits();
  if (header.version >= 3) {
    data["corrupt"] = header.Has(qcow2::kIncompatCorrupt);
    if (header.Has(qcow2::kIncompatExternalData)) {
      data["data-file"] = header.data_file;
      data["data-file-raw"] = (header.autoclear_features & qcow2::kAutoclearRawExternalData) != 0;
    }
    data["extended-l2"] = header.geometry.extended_l2();
  }
  return Json{{"type", "qcow2"}, {"data", data}};
}

Json SnapshotJson(const Snapshot& snapshot) {
  Json json;
  if (snapshot.icount) json["icount"] = *snapshot.icount;
  json["vm-clock-nsec"] = snapshot.vm_clock_nsec % kNanosecond;
  json["name"] = snapshot.name;
  json["date-sec"] = snapshot.date_sec;
  json["date-nsec"] = snapshot.date_nsec;
  json["vm-clock-sec"] = snapshot.vm_clock_nsec / kNanosecond;
  json["id"] = snapshot.id;
  json["vm-state-size"] = snapshot.vm_state_size;
  return json;
}

Json OneAsJson(const InfoReport& report) {
  Json json;
  const bool qcow2 = report.header.has_value();
  if (qcow2 && !report.header->backing_format.empty())
    json["backing-filename-format"] = report.header->backing_format;
  for (const Snapshot& one : report.snapshots) json["snapshots"].push_back(SnapshotJson(one));
  json["virtual-size"] = report.virtual_size;
  json["filename"] = report.name;
  if (qcow2) json["cluster-size"] = report.header->geometry.cluster_size();
  json["format"] = NameOf(report.format);
  json["actual-size"] = report.disk_size;
  if (qcow2) json["format-specific"] = SpecificJson(report);
  if (!report.full_backing_name.empty()) {
    json["full-backing-filename"] = report.full_backing_name;
    json["backing-filename"] = report.header->backing_file;
  }
  json["dirty-flag"] = qcow2 && report.header->Has(qcow2::kIncompatDirty);
  return json;
}

}  // namespace

Result<InfoReport> ReadInfo(const ImageSource& source) {
  const std::unique_ptr<File> file = TRY(OpenFile(source));
  InfoReport report;
  report.name = source.name;
  report.format = TRY(FormatOf(source, *file));
  report.virtual_size = AlignUp(file->size(), 512);
  report.disk_size = AllocatedBytes(source.path);
  if (report.format != ImageFormat::kQcow2) return report;
  const auto could_not = "Could not open '" + source.name + "'";
  Result<Header> header = Header::Read(*file);
  if (!header.ok()) return std::move(header).error().While(could_not);
  report.header = *header;
  report.virtual_size = AlignDown(header->size, 512);
  Result<qcow2::SnapshotTable> table = ReadSnapshots(*file, *header);
  if (!table.ok()) return std::move(table).error().While(could_not);
  report.snapshots = std::move(table)->snapshots;
  Result<qcow2::BitmapDirectory> bitmaps = ReadBitmapDirectory(*file, *header);
  if (!bitmaps.ok()) return std::move(bitmaps).error().While(could_not);
  report.bitmaps = std::move(bitmaps).value();
  report.full_backing_name = Resolve(source.path, header->backing_file);
  return report;
}

std::string SnapshotList(const std::vector<Snapshot>& snapshots) {
  if (snapshots.empty()) return "";
  std::string text = "Snapshot list:\n";
  const auto line = [&](std::string_view id, std::string_view tag, std::string_view size,
                        std::string_view date, std::string_view clock, std::string_view icount) {
    text +=
        fmt::format("{:<9} {:<16} {:>8}{:>20}{:>13}{:>11}\n", id, tag, size, date, clock, icount);
  };
  line("ID", "TAG", "VM SIZE", "DATE", "VM CLOCK", "ICOUNT");
  for (const Snapshot& one : snapshots) {
    const auto seconds = static_cast<time_t>(one.date_sec);
    std::tm local{};
    localtime_r(&seconds, &local);
    char date[32];
    std::strftime(date, sizeof(date), "%Y-%m-%d %H:%M:%S", &local);
    const uint64_t clock = one.vm_clock_nsec / kNanosecond;
    line(one.id, one.name, HumanSize(one.vm_state_size), date,
         fmt::format("{:02}:{:02}:{:02}.{:03}", clock / 3600, clock / 60 % 60, clock % 60,
                     one.vm_clock_nsec % kNanosecond / 1'000'000),
         one.icount ? std::to_string(*one.icount) : "");
  }
  return text;
}

std::string AsText(const InfoReport& report) {
  std::string text =
      fmt::format("image: {}\nfile format: {}\nvirtual size: {} ({} bytes)\ndisk size: {}\n",
                  report.name, NameOf(report.format), HumanSize(report.virtual_size),
                  report.virtual_size, HumanSize(report.disk_size));
  if (!report.header) return text;
  const Header& header = *report.header;
  text += fmt::format("cluster_size: {}\n", header.geometry.cluster_size());
  if (header.Has(qcow2::kIncompatDirty)) text += "cleanly shut down: no\n";
  if (!header.backing_file.empty()) {
    text += "backing file: " + header.backing_file;
    if (report.full_backing_name != header.backing_file)
      text += " (actual path: " + report.full_backing_name + ")";
    text += "\n";
    if (!header.backing_format.empty())
      text += "backing file format: " + header.backing_format + "\n";
  }
  return text + SnapshotList(report.snapshots) + SpecificText(report);
}

std::string AsJson(const std::vector<InfoReport>& reports, bool as_list) {
  Json json = Json::array();
  for (const InfoReport& report : reports) json.push_back(OneAsJson(report));
  const Json& shown = as_list ? json : json.front();
  return shown.dump(4, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace skiff::tool
