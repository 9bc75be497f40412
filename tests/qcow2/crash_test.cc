// Power cuts and kills at every place, over random work: what a completed flush covered reads
// back, everything else is old or new, and the image has no error.

#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>

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

constexpr uint64_t kSector = SectorModel::kSector;
constexpr uint64_t kJudgedPrefixes = 100;  // of the log of a run, about; all of a short one
constexpr uint64_t kBackingMark = uint64_t{1} << 40;

struct Kind {
  std::string options;  // of qemu-img create
  uint64_t size;
  bool backing = false;
  bool fixed_size = false;
};

std::vector<std::byte> MakeImage(const Kind& kind) {
  std::vector<std::byte> bytes =
      fakes::QemuImage("-o " + kind.options + (kind.backing ? " -u -b none.raw -F raw" : ""),
                       std::to_string(kind.size));
  if (kind.fixed_size) bytes.resize(4 * kind.size);
  return bytes;
}

std::vector<std::byte> BackingBytes(const Kind& kind) {
  std::vector<std::byte> bytes(kind.size / 2);
  for (uint64_t at = 0; at < bytes.size(); at += kSector)
    Fill(std::span(bytes).subspan(at, kSector), kBackingMark | at);
  return bytes;
}

// An operation, and the log's length when it began and ended.
struct Step {
  enum What { kChange, kFlush, kSeen } what;
  uint64_t first = 0;
  std::vector<uint64_t> values;  // of the sectors from `first` on
  size_t begin = 0;
  size_t end = 0;
};

class Session {
 public:
  Session(const Kind& kind, uint64_t seed)
      : kind_(kind),
        random_(seed),
        backing_(BackingBytes(kind)),
        recorder_(MakeImage(kind), Facts(kind)),
        model_(FirstValues(kind)) {}

  void Work(int operations) {
    Open();
    for (int i = 0; i < operations && !testing::Test::HasFailure(); ++i) OneStep();
    if (image_ != nullptr) {
      EXPECT_TRUE(image_->Close().ok());
    }
    image_.reset();
  }

  // Returns how many states were judged.
  size_t JudgeCuts() {
    SectorModel model(FirstValues(kind_));
    PowerCuts cuts(recorder_);
    size_t step = 0;
    size_t states = 0;
    do {
      while (step < steps_.size() && steps_[step].end <= cuts.prefix()) Apply(model, step++);
      // The one that is under way may have left any part of itself.
      SectorModel now = model;
      if (step < steps_.size() && steps_[step].what == Step::kChange) AddTo(now, steps_[step]);
      if (Below(1 + cuts.log().size() / kJudgedPrefixes) != 0) continue;
      for (const auto& state : cuts.States({16, 3, 2}, random_)) {
        Judge(now, cuts, state);
        ++states;
        if (testing::Test::HasFailure()) return states;
      }
    } while (cuts.Advance());
    return states;
  }

 private:
  static FileFacts Facts(const Kind& kind) {
    FileFacts facts = MemoryFile::DefaultFacts();
    facts.fixed_size = kind.fixed_size;
    return facts;
  }

  static std::vector<uint64_t> FirstValues(const Kind& kind) {
    std::vector<uint64_t> values(kind.size / kSector);
    for (uint64_t n = 0; kind.backing && n < values.size() / 2; ++n)
      values[n] = kBackingMark | n * kSector;
    return values;
  }

  uint64_t Below(uint64_t end) { return random_() % end; }

  std::unique_ptr<Image> OpenBacking() {
    if (!kind_.backing) return nullptr;
    auto file = std::make_unique<MemoryFile>();
    file->SetBytes(backing_);
    return std::move(RawImage::Open(std::move(file))).value();
  }

  void Open() {
    qcow2::Options options;
    options.l2_cache_size = Below(2) == 0 ? 0 : 1 << 20;
    if (Below(2) == 0) options.most_reserved = 0;  // one cluster at a time
    auto image =
        Qcow2Image::Open(std::make_unique<fakes::LentFile>(recorder_), OpenBacking(), options);
    ASSERT_TRUE(image.ok()) << image.error().message();
    image_ = std::move(image).value();
  }

  static Result<void> Perform(Image& image, BlockOp op, uint64_t first, uint64_t count,
                              std::span<std::byte> bytes, bool unmap = false) {
    return fakes::Perform(image, op, first * kSector, count * kSector, bytes, unmap);
  }

  static std::vector<uint64_t> ReadValues(Image& image, uint64_t first, uint64_t count) {
    std::vector<std::byte> bytes(count * kSector);
    const auto read = Perform(image, BlockOp::kRead, first, count, bytes);
    EXPECT_TRUE(read.ok()) << read.error().message();
    std::vector<uint64_t> values;
    for (uint64_t n = 0; n < count; ++n)
      values.push_back(ValueOf(std::span(bytes).subspan(n * kSector, kSector)));
    return values;
  }

  void OneStep() {
    const uint64_t first = Below(model_.sectors());
    const uint64_t longest = Below(6) == 0 ? model_.sectors() : 24;
    const uint64_t count = 1 + Below(std::min(model_.sectors() - first, longest));
    switch (Below(12)) {
      case 0:
      case 1:
        return Flush();
      case 2:
        return Clear(BlockOp::kWriteZeroes, first, count);
      case 3:
      case 4:
        return Clear(BlockOp::kDiscard, first, count);
      case 5:
        return Below(4) == 0 ? Reopen(/*kill=*/Below(2) == 0) : Flush();
      default:
        return Write(first, count);
    }
  }

  void Write(uint64_t first, uint64_t count) {
    Step step{Step::kChange, first, {}, recorder_.log_size(), 0};
    std::vector<std::byte> bytes(count * kSector);
    for (uint64_t n = 0; n < count; ++n) {
      step.values.push_back(++tag_);
      Fill(std::span(bytes).subspan(n * kSector, kSector), tag_);
    }
    const auto written = Perform(*image_, BlockOp::kWrite, first, count, bytes);
    // A small device may be full; then some of it may have been written.
    if (!written.ok()) {
      EXPECT_EQ(written.error().code(), ErrorCode::kNoSpace);
    }
    Done(std::move(step), !written.ok());
  }

  void Clear(BlockOp op, uint64_t first, uint64_t count) {
    Step step{Step::kChange, first, std::vector<uint64_t>(count), recorder_.log_size(), 0};
    const auto cleared = Perform(*image_, op, first, count, {}, /*unmap=*/Below(2) == 0);
    if (!cleared.ok()) {
      EXPECT_EQ(cleared.error().code(), ErrorCode::kNoSpace);
    }
    Done(std::move(step), op == BlockOp::kDiscard || !cleared.ok());
  }

  // `look`: what it did is to be seen only by reading.
  void Done(Step step, bool look) {
    step.end = recorder_.log_size();
    AddTo(model_, step);
    const uint64_t first = step.first;
    const uint64_t count = step.values.size();
    steps_.push_back(std::move(step));
    if (look) See(first, count);
  }

  // From here on the sectors have the values that are read, which were possible before.
  void See(uint64_t first, uint64_t count) {
    Step step{Step::kSeen, first, ReadValues(*image_, first, count), 0, recorder_.log_size()};
    for (uint64_t n = 0; n < count; ++n) {
      EXPECT_TRUE(model_.Allows(first + n, step.values[n]))
          << "sector " << first + n << " reads " << std::hex << step.values[n];
    }
    AddTo(model_, step);
    steps_.push_back(std::move(step));
  }

  void Flush() {
    Step step{Step::kFlush, 0, {}, recorder_.log_size(), 0};
    const auto flushed = image_->Flush();
    EXPECT_TRUE(flushed.ok()) << flushed.error().message();
    step.end = recorder_.log_size();
    model_.Flush();
    steps_.push_back(step);
  }

  void Reopen(bool kill) {
    if (!kill) {
      Step step{Step::kFlush, 0, {}, recorder_.log_size(), 0};
      EXPECT_TRUE(image_->Close().ok());
      step.end = recorder_.log_size();
      model_.Flush();
      steps_.push_back(step);
    }
    image_.reset();
    Open();
    if (!testing::Test::HasFailure()) See(0, model_.sectors());
  }

  static void AddTo(SectorModel& model, const Step& step) {
    for (uint64_t n = 0; n < step.values.size(); ++n) model.Add(step.first + n, step.values[n]);
  }
  void Apply(SectorModel& model, size_t n) {
    if (steps_[n].what == Step::kFlush) {
      model.Flush();
    } else {
      AddTo(model, steps_[n]);
    }
  }

  void Judge(const SectorModel& model, const PowerCuts& cuts, const PowerCuts::State& state) {
    auto file = std::make_unique<MemoryFile>();
    const std::vector<std::byte> bytes = cuts.Bytes(state);
    file->SetBytes(bytes);
    for (const std::string& error : ErrorsIn(*file)) ADD_FAILURE() << error;
    qcow2::Options options;
    options.read_only = true;
    auto image = Qcow2Image::Open(std::move(file), OpenBacking(), options);
    ASSERT_TRUE(image.ok()) << image.error().message();
    const auto values = ReadValues(**image, 0, model.sectors());
    for (uint64_t n = 0; n < values.size(); ++n) {
      if (model.Allows(n, values[n])) continue;
      ADD_FAILURE() << "sector " << n << " reads " << std::hex << values[n] << ", latest "
                    << model.latest(n);
      break;
    }
    if (testing::Test::HasFailure()) Explain(cuts, state);
  }

  void Explain(const PowerCuts& cuts, const PowerCuts::State& state) {
    std::string text = cuts.Describe(state).substr(0, 4000) + "\nlog:\n";
    for (size_t n = 0; n < std::min(cuts.prefix() + 1, cuts.log().size()); ++n)
      text += std::to_string(n) + " " + fakes::Describe(cuts.log()[n]) + "\n";
    for (const Step& step : steps_)
      text += "step " + std::to_string(step.what) + " sectors " + std::to_string(step.first) + "+" +
              std::to_string(step.values.size()) + " log " + std::to_string(step.begin) + ".." +
              std::to_string(step.end) + "\n";
    std::fputs(text.c_str(), stderr);
  }

  const Kind kind_;
  std::mt19937_64 random_;
  const std::vector<std::byte> backing_;
  CrashRecorder recorder_;
  SectorModel model_;
  std::vector<Step> steps_;
  std::unique_ptr<Qcow2Image> image_;
  uint64_t tag_ = 0;
};

uint64_t FirstSeed() {
  const char* const wanted = std::getenv("CRASH_SEED");
  return wanted != nullptr ? std::strtoull(wanted, nullptr, 10) : std::random_device()();
}

class CrashTest : public testing::TestWithParam<Kind> {};

TEST_P(CrashTest, EveryCutKeepsThePromise) {
  const char* const runs = std::getenv("CRASH_RUNS");
  uint64_t seed = FirstSeed();
  size_t states = 0;
  for (int run = runs != nullptr ? std::atoi(runs) : 3; run > 0 && !HasFailure(); --run, ++seed) {
    SCOPED_TRACE("CRASH_SEED=" + std::to_string(seed) + " with " + GetParam().options);
    Session session(GetParam(), seed);
    session.Work(40);
    if (!HasFailure()) states += session.JudgeCuts();
  }
  std::printf("%zu states\n", states);
  EXPECT_GT(states, 100u);
}

INSTANTIATE_TEST_SUITE_P(
    Kinds, CrashTest,
    testing::Values(Kind{"cluster_size=4k", 256 << 10}, Kind{"cluster_size=4k", 256 << 10, true},
                    Kind{"cluster_size=512,refcount_bits=64", 64 << 10},
                    Kind{"cluster_size=512", 1 << 20},
                    Kind{"cluster_size=512,refcount_bits=1", 64 << 10, true},
                    Kind{"cluster_size=64k", 1 << 20}, Kind{"cluster_size=64k", 1 << 20, true},
                    Kind{"cluster_size=16k,extended_l2=on", 256 << 10, true},
                    Kind{"cluster_size=4k,compat=0.10", 256 << 10, true},
                    Kind{"cluster_size=4k,preallocation=metadata", 256 << 10},
                    Kind{"cluster_size=4k", 256 << 10, true, /*fixed_size=*/true}));

}  // namespace
}  // namespace skiff::test
