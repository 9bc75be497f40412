// Power cuts while snapshots are made, applied and deleted between random writes: the disk and each
// snapshot are as before or as after, whole, and the image has no error.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <map>

#include "disk/qcow2/image.h"
#include "disk/raw/raw_image.h"
#include "tests/fakes/crash_recorder.h"
#include "tests/fakes/image_io.h"
#include "tests/fakes/lent_file.h"
#include "tests/fakes/memory_file.h"
#include "tests/fakes/power_cuts.h"
#include "tests/fakes/qemu_image.h"
#include "tests/qcow2/references.h"
#include "tests/qcow2/sector_model.h"

namespace skiff::test {
namespace {

using fakes::CrashRecorder;
using fakes::MemoryFile;
using fakes::PowerCuts;
using qcow2::Qcow2Image;
using Values = std::vector<uint64_t>;             // of sectors
using Snapshots = std::map<std::string, Values>;  // by id

constexpr uint64_t kSector = SectorModel::kSector;
constexpr uint64_t kJudgedPrefixes = 80;  // of the log of a run, about; all of a short one
constexpr uint64_t kFirstMark = uint64_t{1} << 40;

struct Kind {
  std::string options;  // of qemu-img create
  uint64_t size;
  enum { kPlain, kBacking, kCompressed } content = kPlain;
  bool narrow = false;  // counts are: what needs larger ones is refused
};

Values FirstValues(const Kind& kind) {
  Values values(kind.size / kSector);
  const size_t marked = kind.content == Kind::kPlain     ? 0
                        : kind.content == Kind::kBacking ? values.size() / 2
                                                         : values.size();
  for (size_t n = 0; n < marked; ++n) values[n] = kFirstMark | n;
  return values;
}

std::vector<std::byte> BytesOf(const Values& values) {
  std::vector<std::byte> bytes(values.size() * kSector);
  for (size_t n = 0; n < values.size(); ++n)
    Fill(std::span(bytes).subspan(n * kSector, kSector), values[n]);
  return bytes;
}

Values ValuesOf(std::span<const std::byte> bytes) {
  Values values;
  for (size_t at = 0; at < bytes.size(); at += kSector)
    values.push_back(ValueOf(bytes.subspan(at, kSector)));
  return values;
}

std::vector<std::byte> MakeImage(const Kind& kind) {
  if (kind.content == Kind::kCompressed)
    return fakes::CompressedQemuImage("-o " + kind.options, BytesOf(FirstValues(kind)));
  const bool backing = kind.content == Kind::kBacking;
  return fakes::QemuImage("-o " + kind.options + (backing ? " -u -b none.raw -F raw" : ""),
                          std::to_string(kind.size));
}

// An operation, and the log's length when it began and ended.
struct Step {
  enum What { kWrite, kSeen, kFlush, kCreate, kApply, kDelete } what;
  uint64_t first = 0;  // sector
  Values values{};     // that are there afterwards, from `first` on; the snapshot's
  std::string id{};    // the snapshot's
  size_t begin = 0;
  size_t end = 0;
};

// What an image may hold at some moment.
struct Model {
  SectorModel disk;
  Snapshots snapshots;

  void Apply(const Step& step) {
    if (step.what == Step::kApply) disk = SectorModel(step.values);
    if (step.what == Step::kCreate) snapshots[step.id] = step.values;
    if (step.what == Step::kDelete) snapshots.erase(step.id);
    if (step.what == Step::kWrite || step.what == Step::kSeen) return AddValues(step);
    disk.Flush();
  }
  void AddValues(const Step& step) {
    for (size_t n = 0; n < step.values.size(); ++n) disk.Add(step.first + n, step.values[n]);
  }
  bool Allows(const Values& values) const {
    for (size_t n = 0; n < values.size(); ++n)
      if (!disk.Allows(n, values[n])) return false;
    return true;
  }
};

std::unique_ptr<Image> OpenBacking(const Kind& kind) {
  if (kind.content != Kind::kBacking) return nullptr;
  auto file = std::make_unique<MemoryFile>();
  file->SetBytes(BytesOf(FirstValues(kind)));
  return std::move(RawImage::Open(std::move(file))).value();
}

Values ReadValues(Image& image) {
  std::vector<std::byte> bytes(image.limits().size);
  const auto read = fakes::Perform(image, BlockOp::kRead, 0, bytes.size(), bytes);
  EXPECT_TRUE(read.ok()) << read.error().message();
  return ValuesOf(bytes);
}

// Does random work on an image that a CrashRecorder has, and takes note of it.
class Work {
 public:
  Work(const Kind& kind, std::mt19937_64& random)
      : kind_(kind),
        random_(random),
        recorder_(MakeImage(kind)),
        model_{SectorModel(FirstValues(kind)), {}} {}

  void Run(int operations) {
    Open();
    for (int i = 0; i < operations && !testing::Test::HasFailure(); ++i) OneStep();
    if (image_ == nullptr) return;
    Close();
  }

  const CrashRecorder& recorder() const { return recorder_; }
  const std::vector<Step>& steps() const { return steps_; }

 private:
  uint64_t Below(uint64_t end) { return random_() % end; }

  void Open() {
    qcow2::Options options;
    options.l2_cache_size = Below(2) == 0 ? 0 : 1 << 20;
    if (Below(2) == 0) options.most_reserved = 0;  // one cluster at a time
    auto image =
        Qcow2Image::Open(std::make_unique<fakes::LentFile>(recorder_), OpenBacking(kind_), options);
    ASSERT_TRUE(image.ok()) << image.error().message();
    image_ = std::move(image).value();
  }

  void Close() {
    Do({Step::kFlush}, [&] { return image_->Close(); });
    image_.reset();
  }

  void OneStep() {
    switch (Below(10)) {
      case 0:
        return Do({Step::kFlush}, [&] { return image_->Flush(); });
      case 1:
      case 2:
        return CreateSnapshot();
      case 3:
        return ApplySnapshot();
      case 4:
        return DeleteSnapshot();
      case 5:
        return Reopen(/*kill=*/Below(2) == 0);
      default:
        return Write();
    }
  }

  template <typename Call>
  void Do(Step step, Call call) {
    step.begin = recorder_.log_size();
    const Result<void> done = call();
    if (kind_.narrow && !done.ok() && done.error().code() == ErrorCode::kOutOfRange) {
      step = {Step::kFlush, 0, {}, "", step.begin};  // refused: nothing else has changed
    } else {
      EXPECT_TRUE(done.ok()) << done.error().message();
    }
    step.end = recorder_.log_size();
    model_.Apply(step);
    steps_.push_back(std::move(step));
  }

  void Write() {
    const uint64_t sectors = model_.disk.sectors();
    const uint64_t first = Below(sectors);
    Step step{Step::kWrite, first, Values(1 + Below(std::min<uint64_t>(sectors - first, 24))), {}};
    const bool zeroes = kind_.options.find("0.10") == std::string::npos && Below(5) == 0;
    for (uint64_t& value : step.values) value = zeroes ? 0 : ++tag_;
    std::vector<std::byte> bytes = BytesOf(step.values);
    const uint64_t length = bytes.size();
    const BlockOp op = zeroes ? BlockOp::kWriteZeroes : BlockOp::kWrite;
    if (zeroes) bytes.clear();
    const bool unmap = Below(2) == 0;
    Do(std::move(step), [&] {
      return fakes::Perform(*image_, op, first * kSector, length, bytes, zeroes && unmap);
    });
  }

  void CreateSnapshot() {
    if (model_.snapshots.size() >= (kind_.narrow ? 2 : 5)) return DeleteSnapshot();
    Step step{Step::kCreate, 0, ReadValues(*image_), {}};
    uint64_t largest = 0;
    for (const auto& [id, values] : model_.snapshots)
      largest = std::max<uint64_t>(largest, std::stoull(id));
    step.id = std::to_string(largest + 1);
    qcow2::Snapshot snapshot;
    snapshot.name = "name " + step.id;
    Do(std::move(step), [&] { return image_->CreateSnapshot(snapshot); });
  }

  // nullptr: there is none.
  const Snapshots::value_type* SomeSnapshot() {
    if (model_.snapshots.empty()) return nullptr;
    const auto place = static_cast<ptrdiff_t>(Below(model_.snapshots.size()));
    return &*std::next(model_.snapshots.begin(), place);
  }

  void ApplySnapshot() {
    const auto* const one = SomeSnapshot();
    if (one == nullptr) return Write();
    const std::string id = one->first;
    Do({Step::kApply, 0, one->second, id}, [&] { return image_->ApplySnapshot(id); });
    Reopen(/*kill=*/Below(2) == 0);
  }

  void DeleteSnapshot() {
    const auto* const one = SomeSnapshot();
    if (one == nullptr) return Write();
    const std::string id = one->first;
    Do({Step::kDelete, 0, {}, id}, [&] { return image_->DeleteSnapshot("name " + id); });
  }

  // What a killed writer left is to be seen only by reading.
  void Reopen(bool kill) {
    if (!kill) Close();
    image_.reset();
    Open();
    if (testing::Test::HasFailure()) return;
    const Values values = ReadValues(*image_);
    EXPECT_TRUE(model_.Allows(values));
    Do({Step::kSeen, 0, values, {}}, [] { return Result<void>(); });
  }

  const Kind kind_;
  std::mt19937_64& random_;
  CrashRecorder recorder_;
  Model model_;
  std::vector<Step> steps_;
  std::unique_ptr<Qcow2Image> image_;
  uint64_t tag_ = 0;
};

class Judge {
 public:
  Judge(const Kind& kind, const Work& work, std::mt19937_64& random)
      : kind_(kind), random_(random), steps_(work.steps()), cuts_(work.recorder()) {}

  // Returns how many states were judged.
  size_t JudgeCuts() {
    Model model{SectorModel(FirstValues(kind_)), {}};
    size_t step = 0;
    size_t states = 0;
    do {
      while (step < steps_.size() && steps_[step].end <= cuts_.prefix())
        model.Apply(steps_[step++]);
      const bool under_way = step < steps_.size() && steps_[step].begin <= cuts_.prefix();
      const Step* const now = under_way ? &steps_[step] : nullptr;
      if (random_() % (1 + cuts_.log().size() / kJudgedPrefixes) != 0) continue;
      for (const auto& state : cuts_.States({16, 3, 2}, random_)) {
        JudgeState(model, now, cuts_.Bytes(state));
        ++states;
        if (!testing::Test::HasFailure()) continue;
        Explain(state);
        return states;
      }
    } while (cuts_.Advance());
    return states;
  }

 private:
  // `now`: what was under way; nullptr: nothing.
  void JudgeState(const Model& before, const Step* now, const std::vector<std::byte>& bytes) {
    MemoryFile file;
    file.SetBytes(bytes);
    for (const std::string& error : ErrorsIn(file)) ADD_FAILURE() << error;
    Model after = before;
    if (now != nullptr) after.Apply(*now);
    const auto image = Open(bytes, "");
    ASSERT_NE(image, nullptr);
    const Values values = ReadValues(*image);
    Model between = before;
    if (now != nullptr && now->what == Step::kWrite) between.AddValues(*now);
    EXPECT_TRUE(between.Allows(values) || after.Allows(values)) << "the disk";
    const auto found = image->Snapshots();
    ASSERT_TRUE(found.ok()) << found.error().message();
    Snapshots contents;
    for (const qcow2::Snapshot& one : *found) {
      const auto snapshot = Open(bytes, one.id);
      ASSERT_NE(snapshot, nullptr);
      contents[one.id] = ReadValues(*snapshot);
    }
    EXPECT_TRUE(contents == before.snapshots || contents == after.snapshots) << "the snapshots";
  }

  // `snapshot`: empty for the disk itself.
  std::unique_ptr<Qcow2Image> Open(const std::vector<std::byte>& bytes,
                                   const std::string& snapshot) {
    auto file = std::make_unique<MemoryFile>();
    file->SetBytes(bytes);
    qcow2::Options options;
    options.read_only = true;
    options.snapshot = snapshot;
    auto image = Qcow2Image::Open(std::move(file), OpenBacking(kind_), options);
    EXPECT_TRUE(image.ok()) << image.error().message();
    return image.ok() ? std::move(image).value() : nullptr;
  }

  void Explain(const PowerCuts::State& state) {
    std::string text = cuts_.Describe(state).substr(0, 4000) + "\nlog:\n";
    for (size_t n = 0; n < std::min(cuts_.prefix() + 1, cuts_.log().size()); ++n)
      text += std::to_string(n) + " " + fakes::Describe(cuts_.log()[n]) + "\n";
    for (const Step& step : steps_)
      text += "step " + std::to_string(step.what) + " " + step.id + " sectors " +
              std::to_string(step.first) + "+" + std::to_string(step.values.size()) + " log " +
              std::to_string(step.begin) + ".." + std::to_string(step.end) + "\n";
    std::fputs(text.c_str(), stderr);
  }

  const Kind kind_;
  std::mt19937_64& random_;
  const std::vector<Step>& steps_;
  PowerCuts cuts_;
};

uint64_t FirstSeed() {
  const char* const wanted = std::getenv("CRASH_SEED");
  return wanted != nullptr ? std::strtoull(wanted, nullptr, 10) : std::random_device()();
}

class SnapshotWorkTest : public testing::TestWithParam<Kind> {};

TEST_P(SnapshotWorkTest, EveryCutLeavesTheDiskAndItsSnapshotsWhole) {
  const char* const runs = std::getenv("CRASH_RUNS");
  uint64_t seed = FirstSeed();
  size_t states = 0;
  for (int run = runs != nullptr ? std::atoi(runs) : 1; run > 0 && !HasFailure(); --run, ++seed) {
    SCOPED_TRACE("CRASH_SEED=" + std::to_string(seed) + " with " + GetParam().options);
    std::mt19937_64 random(seed);
    Work work(GetParam(), random);
    work.Run(40);
    if (!HasFailure()) states += Judge(GetParam(), work, random).JudgeCuts();
  }
  std::printf("%zu states\n", states);
  EXPECT_GT(states, 50u);
}

INSTANTIATE_TEST_SUITE_P(
    Kinds, SnapshotWorkTest,
    testing::Values(Kind{"cluster_size=4k", 256 << 10},
                    Kind{"cluster_size=4k", 256 << 10, Kind::kBacking},
                    Kind{"cluster_size=4k", 128 << 10, Kind::kCompressed},
                    Kind{"cluster_size=512", 64 << 10, Kind::kCompressed},
                    Kind{"cluster_size=512,refcount_bits=64", 64 << 10},
                    Kind{"cluster_size=512,refcount_bits=2", 64 << 10, Kind::kBacking, true},
                    Kind{"cluster_size=64k", 512 << 10, Kind::kBacking},
                    Kind{"cluster_size=16k,extended_l2=on", 256 << 10, Kind::kBacking},
                    Kind{"cluster_size=4k,compat=0.10", 256 << 10, Kind::kBacking},
                    Kind{"cluster_size=4k,preallocation=metadata", 256 << 10}));

}  // namespace
}  // namespace skiff::test
