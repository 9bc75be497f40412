// The host fails at every place once while a snapshot is made, applied or deleted: the disk and
// each snapshot are as before or as after, whole, and the image has no error.

#include <gtest/gtest.h>

#include <map>

#include "disk/qcow2/image.h"
#include "tests/fakes/forwarding_file.h"
#include "tests/fakes/image_io.h"
#include "tests/fakes/lent_file.h"
#include "tests/fakes/memory_file.h"
#include "tests/fakes/qemu_image.h"
#include "tests/qcow2/references.h"

namespace skiff::test {
namespace {

using fakes::FileOp;
using fakes::MemoryFile;
using qcow2::Qcow2Image;
using Bytes = std::vector<std::byte>;
using Operation = Result<void> (*)(Qcow2Image&);

constexpr uint64_t kDiskSize = 256 << 10;
constexpr uint64_t kNever = ~uint64_t{0};

// Fails call number `at`; a failed sync fails for good, as a host's does.
class FailingOnce final : public fakes::ForwardingFile {
 public:
  FailingOnce(File& inner, uint64_t at) : ForwardingFile(inner), at_(at) {}
  uint64_t calls() const { return calls_; }

 private:
  Result<void> Before(FileOp op) override {
    if (calls_++ != at_ && !(op == FileOp::kSync && sync_failed_)) return {};
    sync_failed_ = sync_failed_ || op == FileOp::kSync;
    return Error::FromErrno("injected", EIO);
  }

  const uint64_t at_;
  uint64_t calls_ = 0;
  bool sync_failed_ = false;
};

struct Contents {
  Bytes disk;
  std::map<std::string, Bytes> snapshots;  // by id
};

Bytes Read(const Bytes& bytes, const std::string& snapshot) {
  auto file = std::make_unique<MemoryFile>();
  file->SetBytes(bytes);
  qcow2::Options options;
  options.read_only = true;
  options.snapshot = snapshot;
  const auto image = Qcow2Image::Open(std::move(file), nullptr, options);
  EXPECT_TRUE(image.ok()) << image.error().message();
  Bytes disk(kDiskSize);
  if (!image.ok()) return disk;
  const auto read = fakes::Perform(**image, BlockOp::kRead, 0, disk.size(), disk);
  EXPECT_TRUE(read.ok()) << read.error().message();
  return disk;
}

Contents ContentsOf(const Bytes& bytes) {
  MemoryFile file;
  file.SetBytes(bytes);
  for (const std::string& error : ErrorsIn(file)) ADD_FAILURE() << error;
  const auto table = ReadSnapshots(file, qcow2::Header::Read(file).value());
  EXPECT_TRUE(table.ok());
  Contents contents{Read(bytes, ""), {}};
  for (const qcow2::Snapshot& one : table.value().snapshots)
    contents.snapshots[one.id] = Read(bytes, one.id);
  return contents;
}

struct Outcome {
  Bytes image;
  uint64_t calls;
  bool failed;
};

Outcome Do(const Bytes& image, Operation operation, uint64_t fail_at) {
  MemoryFile file;
  file.SetBytes(image);
  FailingOnce failing(file, fail_at);
  auto opened = Qcow2Image::Open(std::make_unique<fakes::LentFile>(failing), nullptr, {});
  if (!opened.ok()) return {file.Bytes(), failing.calls(), true};
  const bool done = operation(**opened).ok();
  const bool closed = (*opened)->Close().ok();
  return {file.Bytes(), failing.calls(), !done || !closed};
}

Result<void> Write(Qcow2Image& image, uint64_t stride, int value) {
  Bytes bytes(3000 / 512 * 512, static_cast<std::byte>(value));
  for (uint64_t at = 0; at + bytes.size() <= kDiskSize; at += stride)
    TRY(fakes::Perform(image, BlockOp::kWrite, at, bytes.size(), bytes));
  return {};
}

Result<void> Create(Qcow2Image& image) { return image.CreateSnapshot({}); }

// A disk that was written to between two snapshots.
Bytes StartWith(const std::string& options) {
  Bytes disk(kDiskSize);
  for (size_t n = 0; n < disk.size(); ++n) disk[n] = static_cast<std::byte>(n / 1000);
  const Bytes image = fakes::CompressedQemuImage("-o " + options, disk);
  const Outcome start = Do(
      image,
      [](Qcow2Image& opened) -> Result<void> {
        TRY(Write(opened, 16'384, 1));
        TRY(Create(opened));
        TRY(Write(opened, 20'480, 2));
        TRY(Create(opened));
        return Write(opened, 40'960, 3);
      },
      kNever);
  EXPECT_FALSE(start.failed);
  return start.image;
}

class SnapshotFaultTest : public testing::TestWithParam<const char*> {};

TEST_P(SnapshotFaultTest, OneFailedCallLosesNothing) {
  const Bytes start = StartWith(GetParam());
  const Contents before = ContentsOf(start);
  const Operation operations[] = {Create,
                                  [](Qcow2Image& image) { return image.ApplySnapshot("1"); },
                                  [](Qcow2Image& image) -> Result<void> {
                                    TRY(image.DeleteSnapshot(""));
                                    return image.DeleteSnapshot("");
                                  }};
  for (const Operation operation : operations) {
    const Outcome whole = Do(start, operation, kNever);
    EXPECT_FALSE(whole.failed);
    const Contents after = ContentsOf(whole.image);
    for (uint64_t at = 0; at < whole.calls && !HasFailure(); ++at) {
      SCOPED_TRACE(std::string(GetParam()) + ", operation " +
                   std::to_string(&operation - operations) + ", call " + std::to_string(at));
      const Contents now = ContentsOf(Do(start, operation, at).image);
      EXPECT_TRUE(now.disk == before.disk || now.disk == after.disk);
      for (const auto& [id, content] : now.snapshots) {
        const bool known = before.snapshots.contains(id);
        EXPECT_TRUE(content == (known ? before : after).snapshots.at(id)) << id;
      }
      for (const auto& [id, content] : after.snapshots)
        EXPECT_TRUE(now.snapshots.contains(id) || !before.snapshots.contains(id)) << id;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Kinds, SnapshotFaultTest,
                         testing::Values("cluster_size=4k", "cluster_size=512,refcount_bits=64",
                                         "cluster_size=64k", "cluster_size=16k,extended_l2=on"));

}  // namespace
}  // namespace skiff::test
