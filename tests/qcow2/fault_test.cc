// The host fails at every place once: the request says so, nothing that a flush promised is lost,
// later requests work, and the image has no error.

#include <gtest/gtest.h>

#include <cstdlib>
#include <random>

#include "disk/qcow2/image.h"
#include "disk/raw/raw_image.h"
#include "tests/fakes/forwarding_file.h"
#include "tests/fakes/image_io.h"
#include "tests/fakes/lent_file.h"
#include "tests/fakes/memory_file.h"
#include "tests/fakes/qemu_image.h"
#include "tests/qcow2/references.h"
#include "tests/qcow2/sector_model.h"

namespace skiff::test {
namespace {

using fakes::FileOp;
using fakes::MemoryFile;
using qcow2::Qcow2Image;

constexpr uint64_t kSector = SectorModel::kSector;
constexpr uint64_t kSectors = 512;
constexpr uint64_t kBackingValue = 0xb0b0;

// Fails call number `at` of those that are made; a failed sync fails for good, as a host's does.
class FailingOnce final : public fakes::ForwardingFile {
 public:
  FailingOnce(File& inner, uint64_t at, int os_error)
      : ForwardingFile(inner), at_(at), os_error_(os_error) {}

  uint64_t calls() const { return calls_; }
  bool sync_failed() const { return sync_failed_; }

 private:
  Result<void> Before(FileOp op) override {
    const bool fails = calls_++ == at_ || (op == FileOp::kSync && sync_failed_);
    if (!fails) return {};
    sync_failed_ = sync_failed_ || op == FileOp::kSync;
    return Error::FromErrno("injected", os_error_);
  }

  const uint64_t at_;
  const int os_error_;
  uint64_t calls_ = 0;
  bool sync_failed_ = false;
};

std::vector<std::byte> MakeImage(const std::string& options, bool backing) {
  return fakes::QemuImage("-o " + options + (backing ? " -u -b none -F raw" : ""),
                          std::to_string(kSectors * kSector));
}

class FaultyRun {
 public:
  FaultyRun(const std::vector<std::byte>& image, bool backing, uint64_t seed, uint64_t fail_at,
            int os_error)
      : backing_(backing),
        random_(seed),
        file_(fail_at, os_error, image),
        model_(std::vector<uint64_t>(kSectors, backing ? kBackingValue : 0)) {}

  // Returns how many calls reached the host.
  uint64_t Work() {
    auto opened = Open(false);
    if (!opened.ok()) return file_.failing.calls();  // the fault came that early
    image_ = std::move(opened).value();
    for (int i = 0; i < 30 && !testing::Test::HasFailure(); ++i) Step();
    if (random_() % 2 == 0) {
      if (image_->Close().ok()) model_.Flush();
    }
    image_.reset();
    if (!testing::Test::HasFailure()) Verify();
    return file_.failing.calls();
  }

 private:
  struct Storage {
    Storage(uint64_t at, int os_error, const std::vector<std::byte>& bytes)
        : failing(memory, at, os_error) {
      memory.SetBytes(bytes);
    }
    MemoryFile memory;
    FailingOnce failing;
  };

  std::unique_ptr<Image> Backing() const {
    if (!backing_) return nullptr;
    auto file = std::make_unique<MemoryFile>();
    std::vector<std::byte> bytes(kSectors * kSector);
    Fill(bytes, kBackingValue);
    file->SetBytes(std::move(bytes));
    return std::move(RawImage::Open(std::move(file))).value();
  }

  Result<std::unique_ptr<Qcow2Image>> Open(bool read_only) {
    qcow2::Options options;
    options.read_only = read_only;
    options.l2_cache_size = random_() % 2 == 0 ? 0 : 1 << 20;
    options.most_reserved = random_() % 2 == 0 ? 0 : 1 << 20;
    File& file = read_only ? static_cast<File&>(file_.memory) : file_.failing;
    return Qcow2Image::Open(std::make_unique<fakes::LentFile>(file), Backing(), options);
  }

  static Result<void> Perform(Image& image, BlockOp op, uint64_t first, uint64_t count,
                              std::span<std::byte> bytes) {
    return fakes::Perform(image, op, first * kSector, count * kSector, bytes,
                          /*may_unmap=*/first % 2 == 0);
  }

  void Step() {
    const uint64_t first = random_() % kSectors;
    const uint64_t count = 1 + random_() % std::min<uint64_t>(kSectors - first, 40);
    std::vector<uint64_t> values(count);
    std::vector<std::byte> bytes(count * kSector);
    BlockOp op = BlockOp::kWrite;
    switch (random_() % 8) {
      case 0:
        return Flush();
      case 1:
        op = BlockOp::kDiscard;
        break;
      case 2:
        op = BlockOp::kWriteZeroes;
        break;
      default:
        for (uint64_t n = 0; n < count; ++n) {
          values[n] = ++tag_;
          Fill(std::span(bytes).subspan(n * kSector, kSector), tag_);
        }
    }
    const auto done = Perform(*image_, op, first, count, bytes);
    for (uint64_t n = 0; n < count; ++n) model_.Add(first + n, values[n]);
    if (!done.ok() || op == BlockOp::kDiscard) See(*image_, first, count);
  }

  void Flush() {
    const auto flushed = image_->Flush();
    if (file_.failing.sync_failed()) {
      EXPECT_FALSE(flushed.ok());
    }
    if (flushed.ok()) model_.Flush();
  }

  // What is there now must have been possible.
  void See(Image& image, uint64_t first, uint64_t count) {
    std::vector<std::byte> bytes(count * kSector);
    if (!Perform(image, BlockOp::kRead, first, count, bytes).ok() &&
        !Perform(image, BlockOp::kRead, first, count, bytes).ok()) {
      ADD_FAILURE() << "reading fails twice";
    }
    for (uint64_t n = 0; n < count; ++n) {
      const uint64_t value = ValueOf(std::span(bytes).subspan(n * kSector, kSector));
      EXPECT_TRUE(model_.Allows(first + n, value))
          << "sector " << first + n << " reads " << std::hex << value << ", latest "
          << model_.latest(first + n);
      model_.Add(first + n, value);
    }
  }

  void Verify() {
    for (const std::string& error : ErrorsIn(file_.memory)) ADD_FAILURE() << error;
    const auto image = Open(/*read_only=*/true);
    ASSERT_TRUE(image.ok()) << image.error().message();
    See(**image, 0, kSectors);
  }

  const bool backing_;
  std::mt19937_64 random_;
  Storage file_;
  SectorModel model_;
  std::unique_ptr<Qcow2Image> image_;
  uint64_t tag_ = 0;
};

struct Kind {
  const char* options;
  bool backing;
};

class FaultTest : public testing::TestWithParam<Kind> {};

TEST_P(FaultTest, OneFailedCallLosesNothing) {
  const char* const wanted = std::getenv("FAULT_SEED");
  const uint64_t seed =
      wanted != nullptr ? std::strtoull(wanted, nullptr, 10) : std::random_device()();
  const std::vector<std::byte> image = MakeImage(GetParam().options, GetParam().backing);
  constexpr uint64_t kNever = ~uint64_t{0};
  const uint64_t calls = FaultyRun(image, GetParam().backing, seed, kNever, EIO).Work();
  EXPECT_GT(calls, 20u);
  for (uint64_t at = 0; at < calls && !HasFailure(); ++at) {
    for (const int os_error : {EIO, ENOSPC}) {
      SCOPED_TRACE("FAULT_SEED=" + std::to_string(seed) + ", call " + std::to_string(at) + ", " +
                   std::to_string(os_error));
      FaultyRun(image, GetParam().backing, seed, at, os_error).Work();
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Kinds, FaultTest,
                         testing::Values(Kind{"cluster_size=4k", false},
                                         Kind{"cluster_size=4k", true},
                                         Kind{"cluster_size=512,refcount_bits=64", false},
                                         Kind{"cluster_size=64k", true},
                                         Kind{"cluster_size=16k,extended_l2=on", true}));

}  // namespace
}  // namespace skiff::test
