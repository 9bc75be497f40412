// Power cuts at every place of a change of the image as a whole (snapshots, size): the disk and
// every snapshot are as before or as after it, and the image has no error but what the next
// writable open puts right.

#include <gtest/gtest.h>

#include <functional>
#include <map>

#include "disk/qcow2/check/check.h"
#include "disk/qcow2/image.h"
#include "disk/resize.h"
#include "tests/fakes/crash_recorder.h"
#include "tests/fakes/image_io.h"
#include "tests/fakes/lent_file.h"
#include "tests/fakes/power_cuts.h"
#include "tests/fakes/qemu_image.h"

namespace skiff::test {
namespace {

using namespace qcow2;

using Bytes = std::vector<std::byte>;
using Edit = std::function<Result<void>(Qcow2Image&)>;

constexpr uint64_t kSize = 256 << 10;

std::unique_ptr<Qcow2Image> OpenOn(File& file, const Options& options = {}) {
  auto image = Qcow2Image::Open(std::make_unique<fakes::LentFile>(file), nullptr, options);
  EXPECT_TRUE(image.ok()) << image.error().message();
  return image.ok() ? std::move(image).value() : nullptr;
}

void Change(File& file, const Edit& edit) {
  const auto image = OpenOn(file);
  const auto edited = edit(*image);
  EXPECT_TRUE(edited.ok()) << edited.error().message();
  EXPECT_TRUE(image->Close().ok());
}

Edit Writes(uint64_t seed) {
  return [seed](Qcow2Image& image) -> Result<void> {
    std::mt19937_64 random(seed);
    for (int n = 0; n < 12; ++n) {
      const uint64_t first = random() % (image.limits().size / 512);
      const uint64_t count =
          1 + random() % std::min<uint64_t>(image.limits().size / 512 - first, 40);
      Bytes bytes(count * 512, static_cast<std::byte>(1 + random() % 255));
      TRY(fakes::Perform(image, BlockOp::kWrite, first * 512, bytes.size(), bytes));
    }
    return {};
  };
}

Edit Creates(const std::string& name) {
  return [name](Qcow2Image& image) {
    Snapshot snapshot;
    snapshot.name = name;
    return image.CreateSnapshot(snapshot);
  };
}
Edit Applies(const std::string& name) {
  return [name](Qcow2Image& image) { return image.ApplySnapshot(name); };
}
Edit Deletes(const std::string& name) {
  return [name](Qcow2Image& image) { return image.DeleteSnapshot(name); };
}
Edit Resizes(uint64_t size) {
  return [size](Qcow2Image& image) { return ResizeDisk(image, size); };
}

// All that can be read of an image.
struct Contents {
  Bytes disk;
  std::map<std::string, Bytes> snapshots;
  bool operator==(const Contents&) const = default;
};

Bytes ReadDisk(File& file, const std::string& snapshot) {
  Options options;
  options.read_only = true;
  options.snapshot = snapshot;
  const auto image = OpenOn(file, options);
  if (image == nullptr) return {};
  Bytes bytes(image->limits().size);
  const auto read = fakes::Perform(*image, BlockOp::kRead, 0, bytes.size(), bytes);
  EXPECT_TRUE(read.ok()) << read.error().message();
  return bytes;
}

Contents ReadAll(File& file) {
  Contents contents{ReadDisk(file, ""), {}};
  Options options;
  options.read_only = true;
  const auto snapshots = OpenOn(file, options)->Snapshots();
  EXPECT_TRUE(snapshots.ok());
  for (const Snapshot& one : *snapshots) contents.snapshots[one.name] = ReadDisk(file, one.name);
  return contents;
}

// What must not be: all but leaks and missing COPIED flags.
void ExpectHarmless(File& file) {
  std::string lines;
  const auto report =
      CheckImage(file, Repair::kNothing, [&](const std::string& line) { lines += line + "\n"; });
  ASSERT_TRUE(report.ok()) << report.error().message();
  EXPECT_EQ(report->corruptions, report->missing_flags) << lines;
  EXPECT_EQ(report->check_errors, 0u) << lines;
}

void ExpectRecovered(File& file) {
  const auto recovered = RecoverImage(file);
  EXPECT_TRUE(recovered.ok()) << recovered.error().message();
  std::string lines;
  const auto report =
      CheckImage(file, Repair::kNothing, [&](const std::string& line) { lines += line + "\n"; });
  EXPECT_TRUE(report.ok() && report->corruptions == 0 && report->leaks == 0) << lines;
}

// Returns how many states were judged.
size_t CutEverywhere(const Bytes& start, const Edit& edit, uint64_t seed) {
  fakes::CrashRecorder recorder(start);
  const Contents before = ReadAll(recorder);
  Change(recorder, edit);
  const Contents after = ReadAll(recorder);
  std::mt19937_64 random(seed);
  fakes::PowerCuts cuts(recorder);
  size_t states = 0;
  do {
    for (const auto& state : cuts.States({8, 3, 2}, random)) {
      fakes::MemoryFile file;
      file.SetBytes(cuts.Bytes(state));
      ExpectHarmless(file);
      const Contents left = ReadAll(file);
      EXPECT_TRUE(left == before || left == after) << "neither as before nor as after";
      ExpectRecovered(file);
      EXPECT_TRUE(ReadAll(file) == left) << "changed by the recovery";
      ++states;
      if (testing::Test::HasFailure()) {
        ADD_FAILURE() << cuts.Describe(state).substr(0, 3000);
        return states;
      }
    }
  } while (cuts.Advance());
  return states;
}

class SnapshotCrash : public testing::TestWithParam<const char*> {};

TEST_P(SnapshotCrash, LeavesBeforeOrAfter) {
  const char* const wanted = std::getenv("CRASH_SEED");
  const uint64_t seed =
      wanted != nullptr ? std::strtoull(wanted, nullptr, 10) : std::random_device()();
  SCOPED_TRACE("CRASH_SEED=" + std::to_string(seed) + " with " + GetParam());
  fakes::MemoryFile file;
  file.SetBytes(fakes::QemuImage(std::string("-o ") + GetParam(), std::to_string(kSize)));
  Change(file, Writes(seed));
  Change(file, Creates("one"));
  Change(file, Writes(seed + 1));
  Change(file, Creates("two"));
  Change(file, Writes(seed + 2));
  const Bytes start = file.Bytes();
  size_t states = 0;
  for (const auto& [name, edit] :
       std::map<std::string, Edit>{{"create", Creates("three")},
                                   {"apply", Applies("one")},
                                   {"delete", Deletes("one")},
                                   {"delete the last", Deletes("two")},
                                   {"grow", Resizes(3 * kSize)},
                                   {"shrink", Resizes(kSize / 2 + 512)}}) {
    SCOPED_TRACE(name);
    states += CutEverywhere(start, edit, seed);
    if (HasFailure()) return;
  }
  std::printf("%zu states\n", states);
  EXPECT_GT(states, 100u);
}

INSTANTIATE_TEST_SUITE_P(Kinds, SnapshotCrash,
                         testing::Values("cluster_size=4k", "cluster_size=512",
                                         "cluster_size=4k,refcount_bits=4", "cluster_size=64k",
                                         "cluster_size=16k,extended_l2=on"));

}  // namespace
}  // namespace skiff::test
