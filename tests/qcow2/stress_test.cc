// Many threads on one image: what each wrote is there, and the image is clean. For TSan too.

#include <gtest/gtest.h>
#include <sys/wait.h>

#include <cstdlib>
#include <random>
#include <thread>

#include "disk/posix_file.h"
#include "disk/qcow2/image.h"
#include "disk/raw/raw_image.h"
#include "tests/fakes/image_io.h"
#include "tests/fakes/memory_file.h"
#include "tests/fakes/temp_directory.h"
#include "tests/qcow2/references.h"
#include "tests/qcow2/sector_model.h"

namespace skiff::test {
namespace {

constexpr uint64_t kSector = SectorModel::kSector;
constexpr uint64_t kSectors = 8192;  // of the disk: 4 MiB
constexpr uint64_t kThreads = 8;
constexpr uint64_t kBackingValue = 0xabab;

std::unique_ptr<Image> Backing() {
  auto file = std::make_unique<fakes::MemoryFile>();
  std::vector<std::byte> bytes(kSectors * kSector);
  Fill(bytes, kBackingValue);
  file->SetBytes(std::move(bytes));
  return std::move(RawImage::Open(std::move(file))).value();
}

Result<void> Perform(Image& image, BlockOp op, uint64_t sector, std::span<std::byte> bytes,
                     uint64_t length) {
  return fakes::Perform(image, op, sector * kSector, length, bytes, /*may_unmap=*/true);
}

// One thread's sectors: every kThreads-th, so that all threads meet in every cluster.
class Writer {
 public:
  Writer(Image& image, uint64_t number, uint64_t seed)
      : image_(image), number_(number), random_(seed), values_(kSectors / kThreads) {
    std::fill(values_.begin(), values_.end(), first_value);
  }

  void Run(int operations) {
    for (int i = 0; i < operations; ++i) {
      const uint64_t n = random_() % values_.size();
      switch (random_() % 16) {
        case 0:
          EXPECT_TRUE(image_.Flush().ok());
          break;
        case 1:
        case 2:
          ExpectValue(n);
          break;
        case 3:
          values_[n] = 0;
          EXPECT_TRUE(Perform(image_, BlockOp::kWriteZeroes, SectorOf(n), {}, kSector).ok());
          break;
        default:
          values_[n] = number_ << 32 | ++tag_;
          std::vector<std::byte> bytes(kSector);
          Fill(bytes, values_[n]);
          EXPECT_TRUE(Perform(image_, BlockOp::kWrite, SectorOf(n), bytes, kSector).ok());
      }
    }
  }

  void ExpectAll() {
    for (uint64_t n = 0; n < values_.size(); ++n) ExpectValue(n);
  }

  static inline uint64_t first_value = 0;

 private:
  uint64_t SectorOf(uint64_t n) const { return n * kThreads + number_; }

  void ExpectValue(uint64_t n) {
    std::vector<std::byte> bytes(kSector);
    EXPECT_TRUE(Perform(image_, BlockOp::kRead, SectorOf(n), bytes, kSector).ok());
    EXPECT_EQ(ValueOf(bytes), values_[n]) << "sector " << SectorOf(n);
  }

  Image& image_;
  const uint64_t number_;
  std::mt19937_64 random_;
  std::vector<uint64_t> values_;
  uint64_t tag_ = 0;
};

struct Kind {
  const char* options;
  bool backing;
};

class StressTest : public testing::TestWithParam<Kind> {
 protected:
  void SetUp() override {
    path_ = directory_ / "disk.qcow2";
    const std::string below = GetParam().backing ? " -u -b none -F raw" : "";
    Shell("qemu-img create -q -f qcow2 -o " + std::string(GetParam().options) + below + " " +
          path_ + " " + std::to_string(2 * kSectors * kSector));
    Writer::first_value = GetParam().backing ? kBackingValue : 0;
  }

  static void Shell(const std::string& command) {
    EXPECT_EQ(std::system(command.c_str()), 0) << command;
  }

  std::unique_ptr<qcow2::Qcow2Image> Open() {
    qcow2::Options options;
    options.l2_cache_size = 0;
    options.refcount_cache_size = 0;
    options.most_reserved = 256 << 10;
    auto image = qcow2::Qcow2Image::Open(std::move(OpenHostFile(path_, {})).value(),
                                         GetParam().backing ? Backing() : nullptr, options);
    EXPECT_TRUE(image.ok()) << image.error().message();
    return std::move(image).value();
  }

  fakes::TempDirectory directory_;
  std::string path_;
};

// writers in the same clusters, and beside them one that discards whole
// clusters and writes them anew.
TEST_P(StressTest, EveryWriteSurvives) {
  const uint64_t seed = std::random_device()();
  SCOPED_TRACE("seed " + std::to_string(seed));
  auto image = Open();
  std::vector<std::unique_ptr<Writer>> writers;
  for (uint64_t n = 0; n < kThreads; ++n)
    writers.push_back(std::make_unique<Writer>(*image, n, seed + n));
  std::vector<std::thread> threads;
  for (auto& writer : writers) threads.emplace_back([&writer] { writer->Run(400); });
  threads.emplace_back([&image] {
    std::vector<std::byte> bytes(kSectors * kSector / 8);
    for (uint64_t round = 1; round < 20; ++round) {
      Fill(bytes, round);
      EXPECT_TRUE(Perform(*image, BlockOp::kWrite, kSectors, bytes, bytes.size()).ok());
      std::vector<std::byte> got(bytes.size());
      EXPECT_TRUE(Perform(*image, BlockOp::kRead, kSectors, got, got.size()).ok());
      EXPECT_EQ(got, bytes);
      EXPECT_TRUE(Perform(*image, BlockOp::kDiscard, kSectors, {}, bytes.size()).ok());
    }
  });
  for (std::thread& thread : threads) thread.join();
  for (auto& writer : writers) writer->ExpectAll();
  EXPECT_TRUE(image->Close().ok());
  image.reset();
  std::vector<std::string> errors = ErrorsIn(*OpenHostFile(path_, {}).value());
  EXPECT_EQ(errors, std::vector<std::string>());
  // It wants the backing file to exist.
  Shell("truncate -s 4M " + (directory_ / "none") + " && qemu-img check -q -f qcow2 " + path_);
}

INSTANTIATE_TEST_SUITE_P(Kinds, StressTest,
                         testing::Values(Kind{"cluster_size=4k", false},
                                         Kind{"cluster_size=64k", true},
                                         Kind{"cluster_size=512,refcount_bits=64", false},
                                         Kind{"cluster_size=16k,extended_l2=on", true}));

}  // namespace
}  // namespace skiff::test
