// Checks of images that qemu-img made and that were broken on purpose, with qemu-img as judge.

#include "disk/qcow2/check/check.h"

#include <gtest/gtest.h>
#include <sys/wait.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <map>
#include <string>
#include <vector>

#include "base/endian.h"
#include "disk/posix_file.h"
#include "disk/qcow2/format.h"
#include "tests/fakes/temp_directory.h"

namespace skiff::qcow2 {
namespace {

struct Ran {
  int status;
  std::string out;
};

Ran Shell(const std::string& command) {
  FILE* const pipe = popen((command + " 2>/dev/null").c_str(), "r");
  Ran ran{};
  std::array<char, 4096> piece;
  while (const size_t got = fread(piece.data(), 1, piece.size(), pipe))
    ran.out.append(piece.data(), got);
  const int status = pclose(pipe);
  ran.status = WIFEXITED(status) ? WEXITSTATUS(status) : 128;
  return ran;
}

// A number of qemu-img's JSON; 0 if it is not there.
uint64_t Number(const std::string& json, const std::string& key) {
  const size_t at = json.find("\"" + key + "\": ");
  return at == std::string::npos ? 0
                                 : std::strtoull(json.c_str() + at + key.size() + 4, nullptr, 10);
}

struct Outcome {
  bool could_check = false;
  CheckReport report;

  int Status() const {
    if (!could_check || report.check_errors != 0) return 1;
    return report.corruptions != 0 ? 2 : report.leaks != 0 ? 3 : 0;
  }
};

Outcome Ours(const std::string& path, Repair repair, std::string* lines = nullptr) {
  PosixFileOptions options;
  options.read_only = repair == Repair::kNothing;
  auto file = OpenHostFile(path, options);
  EXPECT_TRUE(file.ok());
  const auto report = CheckImage(**file, repair, [&](const std::string& line) {
    if (lines != nullptr) *lines += line + "\n";
  });
  if (!report.ok() && lines != nullptr) *lines += report.error().message() + "\n";
  return report.ok() ? Outcome{true, *report} : Outcome{};
}

Outcome Theirs(const std::string& path, const std::string& options = "") {
  const Ran ran = Shell("qemu-img check -f qcow2 --output=json " + options + " " + path);
  Outcome outcome;
  outcome.could_check = ran.out.find("check-errors") != std::string::npos;
  CheckReport& report = outcome.report;
  report.corruptions = Number(ran.out, "corruptions");
  report.leaks = Number(ran.out, "leaks");
  report.check_errors = Number(ran.out, "check-errors");
  report.corruptions_fixed = Number(ran.out, "corruptions-fixed");
  report.leaks_fixed = Number(ran.out, "leaks-fixed");
  report.image_end_offset = Number(ran.out, "image-end-offset");
  report.total_clusters = Number(ran.out, "total-clusters");
  report.allocated_clusters = Number(ran.out, "allocated-clusters");
  report.fragmented_clusters = Number(ran.out, "fragmented-clusters");
  report.compressed_clusters = Number(ran.out, "compressed-clusters");
  EXPECT_EQ(ran.status, outcome.Status()) << ran.out;
  return outcome;
}

void ExpectEqual(const CheckReport& ours, const CheckReport& theirs) {
  EXPECT_EQ(ours.corruptions, theirs.corruptions);
  EXPECT_EQ(ours.leaks, theirs.leaks);
  EXPECT_EQ(ours.check_errors, theirs.check_errors);
  EXPECT_EQ(ours.image_end_offset, theirs.image_end_offset);
  EXPECT_EQ(ours.total_clusters, theirs.total_clusters);
  EXPECT_EQ(ours.allocated_clusters, theirs.allocated_clusters);
  EXPECT_EQ(ours.fragmented_clusters, theirs.fragmented_clusters);
  EXPECT_EQ(ours.compressed_clusters, theirs.compressed_clusters);
}

// A base image, by name. Their layouts: header, refcount table, refcount block, L1 table, L2
// table, data, in clusters of this order.
void MakeBase(const std::string& name, const std::string& path) {
  static const std::map<std::string, std::string> kCommands = {
      {"plain",
       "qemu-img create -f qcow2 D 64M && qemu-io -c 'write -P 1 0 256k' -c 'write 8M 64k' "
       "-c 'write 9M 64k' -c 'write -z 9M 64k' -c 'write -z 10M 128k' D"},
      {"v2", "qemu-img create -f qcow2 -o compat=0.10 D 64M && qemu-io -c 'write -P 1 0 256k' D"},
      {"snapshots",
       "qemu-img create -f qcow2 D 64M && qemu-io -c 'write -P 1 0 256k' D && qemu-img snapshot -c "
       "one D && qemu-io -c 'write -P 2 64k 64k' D && qemu-img snapshot -c two D && qemu-io -c "
       "'write -P 3 64k 128k' D"},
      {"extended",
       "qemu-img create -f qcow2 -o extended_l2=on D 64M && qemu-io -c 'write -P 1 0 256k' "
       "-c 'write 1M 2k' -c 'write -z 2M 4k' D"},
      {"compressed",
       "qemu-img create -f raw D.raw 4M && qemu-io -f raw -c 'write -P 7 0 3M' D.raw && "
       "qemu-img convert -c -f raw -O qcow2 D.raw D && qemu-io -c 'write 3M 64k' D"},
      {"small",
       "qemu-img create -f qcow2 -o cluster_size=512,refcount_bits=1 D 4M && qemu-io -c "
       "'write -P 1 0 300k' D"},
      {"wide",
       "qemu-img create -f qcow2 -o cluster_size=4k,refcount_bits=64 D 64M && qemu-io -c "
       "'write -P 1 0 1M' D"},
      {"large",
       "qemu-img create -f qcow2 -o cluster_size=2M D 4G && qemu-io -c 'write -P 1 3G 9M' D"},
      {"bitmaps",
       "qemu-img create -f qcow2 D 64M && qemu-img bitmap --add D b1 && qemu-img bitmap "
       "--add -g 64k D b2 && qemu-io -c 'write -P 1 0 256k' D"},
      {"lazy", "qemu-img create -f qcow2 -o lazy_refcounts=on D 64M && qemu-io -c 'write 0 64k' D"},
      {"empty", "qemu-img create -f qcow2 D 0"},
  };
  std::string command = kCommands.find(name)->second;
  for (size_t at = 0; (at = command.find(" D", at)) != std::string::npos; ++at)
    command.replace(at + 1, 1, path);
  ASSERT_EQ(Shell(command).status, 0) << command;
}

struct Poke {
  uint64_t at;
  int width;  // bytes
  uint64_t value;
};

struct Breakage {
  const char* name;
  const char* base;
  std::vector<Poke> pokes;
  uint64_t file_size = 0;  // then the file is cut, or made longer
};

void Break(const std::string& path, const Breakage& breakage) {
  std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
  for (const Poke& poke : breakage.pokes) {
    const Be64 big(poke.value);
    file.seekp(static_cast<std::streamoff>(poke.at));
    file.write(reinterpret_cast<const char*>(&big) + 8 - poke.width, poke.width);
  }
  file.close();
  if (breakage.file_size != 0) std::filesystem::resize_file(path, breakage.file_size);
}

constexpr uint64_t kTable = 0x10000;
constexpr uint64_t kBlock = 0x20000;
constexpr uint64_t kL1 = 0x30000;
constexpr uint64_t kL2 = 0x40000;
constexpr uint64_t kOne = kCopied;

std::vector<Breakage> Breakages() {
  return {
      {"data cluster counted twice", "plain", {{kBlock + 2 * 5, 2, 2}}},
      {"data cluster not counted", "plain", {{kBlock + 2 * 6, 2, 0}}},
      {"counts of two not counted", "plain", {{kBlock + 2 * 6, 4, 0}}},
      {"L2 table counted twice", "plain", {{kBlock + 2 * 4, 2, 2}}},
      {"L2 table not counted", "plain", {{kBlock + 2 * 4, 2, 0}}},
      {"L1 table not counted", "plain", {{kBlock + 2 * 3, 2, 0}}},
      {"block not counted", "plain", {{kBlock + 2 * 2, 2, 0}}},
      {"block counted thrice", "plain", {{kBlock + 2 * 2, 2, 3}}},
      {"header not counted", "plain", {{kBlock, 2, 0}}},
      {"all counts lost", "plain", {{kBlock, 8, 0}, {kBlock + 8, 8, 0}, {kBlock + 16, 8, 0}}},
      {"leak at the end", "plain", {{kBlock + 2 * 12, 2, 1}}, 0xd0000},
      {"three leaks", "plain", {{kBlock + 2 * 12, 2, 1}, {kBlock + 2 * 13, 4, 0x10005}}, 0xf0000},
      {"counts behind the end", "plain", {{kBlock + 2 * 100, 2, 1}}},
      {"COPIED missing in L2", "plain", {{kL2, 8, 0x50000}}},
      {"COPIED missing in L1", "plain", {{kL1, 8, kL2}}},
      {"COPIED of a shared cluster", "plain", {{kL2 + 8, 8, kOne | 0x50000}}},
      {"two entries, one cluster", "plain", {{kL2 + 8, 8, 0x50000}, {kL2, 8, 0x50000}}},
      {"entry names the header", "plain", {{kL2 + 80, 8, kOne | 0x10000}}},
      {"entry names the L1 table", "plain", {{kL2 + 80, 8, kOne | kL1}}},
      {"entry names its own table", "plain", {{kL2 + 80, 8, kOne | kL2}}},
      {"entry past the end", "plain", {{kL2 + 80, 8, kOne | 0x100000}}},
      {"entry far past the end", "plain", {{kL2 + 80, 8, kOne | 0xfffffffff0000}}},
      {"entry not aligned", "plain", {{kL2, 8, kOne | 0x50200}}},
      {"zero entry not aligned", "plain", {{kL2, 8, kOne | 0x50201}}},
      {"reserved bits in L2", "plain", {{kL2, 8, kOne | 0x50000 | 2}}},
      {"high reserved bits in L2", "plain", {{kL2, 8, kOne | 0x50000 | uint64_t{1} << 56}}},
      {"reserved bits in L1", "plain", {{kL1, 8, kOne | kL2 | 1}}},
      {"L1 entry not aligned", "plain", {{kL1, 8, kOne | (kL2 + 0x200)}}},
      {"L1 entry past the end", "plain", {{kL1, 8, kOne | 0x200000}}},
      {"data as L2 table", "plain", {{kL1 + 8, 8, kOne | 0x50000}}},
      {"L2 table used twice", "plain", {{kL1 + 8, 8, kL2}}},
      {"refcount table entry lost", "plain", {{kTable, 8, 0}}},
      {"refcount table entry not aligned", "plain", {{kTable, 8, kBlock + 0x200}}},
      {"refcount table entry reserved", "plain", {{kTable, 8, kBlock + 1}}},
      {"block past the end", "plain", {{kTable, 8, 0x900000}}},
      {"second block past the end", "plain", {{kTable + 8, 8, 0x900000}}},
      {"two entries, one block", "plain", {{kTable + 8, 8, kBlock}}},
      {"block is the L1 table", "plain", {{kTable, 8, kL1}}},
      {"file cut in its data", "plain", {}, 0x88000},
      {"file cut before the last data", "plain", {}, 0x80000},
      {"file cut in the L2 table", "plain", {}, 0x48000},
      {"marked corrupt, all right", "plain", {{72, 8, kIncompatCorrupt}}},
      {"marked dirty, counts lost", "lazy", {{72, 8, kIncompatDirty}, {kBlock + 2 * 4, 4, 0}}},
      {"v2: COPIED missing", "v2", {{kL2, 8, 0x50000}}},
      {"v2: count lost", "v2", {{kBlock + 2 * 5, 2, 0}}},
      {"snapshots: count too low", "snapshots", {{kBlock + 2 * 5, 2, 1}}},
      {"snapshots: count too high", "snapshots", {{kBlock + 2 * 5, 2, 9}}},
      {"snapshots: count lost", "snapshots", {{kBlock + 2 * 5, 2, 0}}},
      {"extended: both bits", "extended", {{kL2 + 8, 8, 0x00000001ffffffff}}},
      {"extended: bits without a cluster", "extended", {{kL2, 8, 0}}},
      {"extended: zero flag", "extended", {{kL2, 8, kOne | 0x50001}}},
      {"compressed: COPIED", "compressed", {{kL2, 1, 0xc0}}},
      {"compressed: past the end", "compressed", {{kL2, 8, kCompressed | 0x7000000}}},
      {"compressed: count too low", "compressed", {{kBlock + 2 * 5, 2, 1}}},
      {"small: counts lost", "small", {{0x600, 1, 0}}},
      {"small: all counts lost", "small", {{0x400, 8, 0}, {0x408, 8, 0}}},
      {"wide: counts lost", "wide", {{0x2000 + 8 * 9, 8, 0}}},
      {"wide: a huge count", "wide", {{0x2000 + 8 * 9, 8, uint64_t{1} << 62}}},
      {"large: count too high", "large", {{0x400000 + 2 * 5, 2, 8}}},
      {"bitmaps: count lost", "bitmaps", {{kBlock + 2 * 4, 2, 0}}},
      {"bitmaps: count too high", "bitmaps", {{kBlock + 2 * 4, 2, 3}}},
  };
}

class Broken : public testing::TestWithParam<Breakage> {};

TEST_P(Broken, IsJudgedAndRepairedAsByQemuImg) {
  const fakes::TempDirectory directory;
  const std::string path = directory / "image.qcow2";
  MakeBase(GetParam().base, path);
  Break(path, GetParam());
  for (const char* copy : {".leaks", ".all", ".theirs"})
    ASSERT_EQ(Shell("cp " + path + " " + path + copy).status, 0);
  std::string lines;
  const Outcome ours = Ours(path, Repair::kNothing, &lines);
  const Outcome theirs = Theirs(path);
  SCOPED_TRACE(lines + Shell("qemu-img check -f qcow2 " + path + " 2>&1").out);
  EXPECT_EQ(ours.Status(), theirs.Status());
  ExpectEqual(ours.report, theirs.report);

  // Repaired by us, it is right, as far as qemu-img could do it too.
  std::string repairs;
  Ours(path + ".all", Repair::kAll, &repairs);
  SCOPED_TRACE(repairs);
  Theirs(path + ".theirs", "-r all");
  const Outcome their_repair = Theirs(path + ".theirs");
  const Outcome after = Theirs(path + ".all");
  EXPECT_LE(after.report.corruptions, their_repair.report.corruptions);
  EXPECT_EQ(after.report.leaks, 0u);
  ExpectEqual(Ours(path + ".all", Repair::kNothing).report, after.report);

  Ours(path + ".leaks", Repair::kLeaks);
  const Outcome leaks_after = Theirs(path + ".leaks");
  EXPECT_LE(leaks_after.report.corruptions, theirs.report.corruptions);
}

INSTANTIATE_TEST_SUITE_P(Image, Broken, testing::ValuesIn(Breakages()), [](const auto& one) {
  std::string name = one.param.name;
  for (char& c : name)
    if (std::isalnum(static_cast<unsigned char>(c)) == 0) c = '_';
  return name;
});

// A megabyte that claims 20,000 snapshots, each with the largest L1 table, at the same place.
TEST(Check, HostileTablesAreRefusedInTime) {
  const fakes::TempDirectory directory;
  const std::string path = directory / "image.qcow2";
  MakeBase("empty", path);
  Breakage hostile{"", "", {{60, 4, 20000}, {64, 8, 0x40000}}, 1 << 20};
  for (uint64_t n = 0; n < 12000; ++n) {
    hostile.pokes.push_back({0x40000 + n * 40, 8, 0x10000});
    hostile.pokes.push_back({0x40000 + n * 40 + 8, 4, 4 << 20});
  }
  Break(path, hostile);
  std::string lines;
  EXPECT_FALSE(Ours(path, Repair::kNothing, &lines).could_check);
  EXPECT_NE(lines, "");
}

TEST(Check, SoundImagesAreSound) {
  for (const char* base : {"plain", "v2", "snapshots", "extended", "compressed", "small", "wide",
                           "large", "bitmaps", "lazy", "empty"}) {
    SCOPED_TRACE(base);
    const fakes::TempDirectory directory;
    const std::string path = directory / "image.qcow2";
    MakeBase(base, path);
    std::string lines;
    const Outcome ours = Ours(path, Repair::kNothing, &lines);
    EXPECT_EQ(lines, "");
    EXPECT_EQ(ours.Status(), 0);
    ExpectEqual(ours.report, Theirs(path).report);
  }
}

}  // namespace
}  // namespace skiff::qcow2
