// Block devices of the host: loop devices over files, which take root to make.

#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/loop.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <string>
#include <vector>

#include "base/arith.h"
#include "base/unique_fd.h"
#include "disk/open.h"
#include "disk/posix_file.h"
#include "disk/random_file_ops.h"
#include "tests/fakes/temp_directory.h"

namespace skiff {
namespace {

// A loop device that is gone with the last descriptor. `path` is empty where none can be made.
class LoopDevice {
 public:
  LoopDevice(const std::string& backing, uint32_t block_size, bool read_only = false)
      : backing_(open(backing.c_str(), read_only ? O_RDONLY : O_RDWR)) {
    const UniqueFd control(open("/dev/loop-control", O_RDWR));
    for (int attempt = 0; control.valid() && attempt < 20; ++attempt) {
      const int number = ioctl(control.get(), LOOP_CTL_GET_FREE);
      if (number < 0) return;
      const std::string name = "/dev/loop" + std::to_string(number);
      device_ = UniqueFd(open(name.c_str(), O_RDWR));
      loop_config config{};
      config.fd = static_cast<uint32_t>(backing_.get());
      config.block_size = block_size;
      config.info.lo_flags = LO_FLAGS_AUTOCLEAR | (read_only ? LO_FLAGS_READ_ONLY : 0);
      if (device_.valid() && ioctl(device_.get(), LOOP_CONFIGURE, &config) == 0) {
        path_ = name;
        return;
      }
    }
  }
  const std::string& path() const { return path_; }
  void SizeChanged() { ASSERT_EQ(ioctl(device_.get(), LOOP_SET_CAPACITY), 0); }

 private:
  UniqueFd backing_;
  UniqueFd device_;
  std::string path_;
};

class BlockDevice : public testing::TestWithParam<uint32_t> {
 protected:
  void Attach(uint64_t size, bool read_only = false) {
    backing_ = directory_.MakeFile("backing", size);
    device_.emplace(backing_, GetParam(), read_only);
    if (device_->path().empty()) GTEST_SKIP() << "cannot make loop devices here";
  }
  std::unique_ptr<File> Open(bool direct) {
    PosixFileOptions options;
    options.direct = direct;
    Result<std::unique_ptr<File>> file = OpenHostFile(device_->path(), options);
    if (!file.ok()) ADD_FAILURE() << file.error().message();
    return file.ok() ? std::move(file).value() : nullptr;
  }

  fakes::TempDirectory directory_;
  std::string backing_;
  std::optional<LoopDevice> device_;
};

INSTANTIATE_TEST_SUITE_P(BlockSize, BlockDevice, testing::Values(512, 4096),
                         testing::PrintToStringParamName());

TEST_P(BlockDevice, RandomSectorsMatchAModel) {
  Attach(1 * kMiB);
  if (IsSkipped()) return;
  for (const bool direct : {false, true}) {
    const auto file = Open(direct);
    ASSERT_NE(file, nullptr);
    EXPECT_EQ(file->size(), 1 * kMiB);
    EXPECT_GE(file->facts().preferred.block, GetParam());
    RandomFileOps(*file, 1 * kMiB, 512, 5).Run(80);
    ASSERT_TRUE(file->Sync().ok());
  }
}

// the first thing that is read is the first few bytes.
TEST_P(BlockDevice, OpensAsADiskInEveryCacheMode) {
  Attach(1 * kMiB);
  if (IsSkipped()) return;
  for (const CacheMode cache : {CacheMode::kWriteback, CacheMode::kNone, CacheMode::kWritethrough,
                                CacheMode::kDirectsync}) {
    OpenOptions options;
    options.path = device_->path();
    options.cache = cache;
    const auto disk = OpenDisk(options);
    ASSERT_TRUE(disk.ok()) << disk.error().message();
    EXPECT_EQ(disk.value()->limits().size, 1 * kMiB);
    EXPECT_EQ(disk.value()->limits().logical_block, 512u);
    EXPECT_GE(disk.value()->limits().physical_block, GetParam());
  }
}

TEST_P(BlockDevice, NothingGoesPastTheEnd) {
  Attach(1 * kMiB);
  if (IsSkipped()) return;
  const auto file = Open(/*direct=*/true);
  ASSERT_NE(file, nullptr);
  const FileRange past = FileRange::Make(FileOffset(1 * kMiB - 4096), 8192).value();
  EXPECT_FALSE(WriteBytes(*file, past.start(), std::vector<std::byte>(8192)).ok());
  EXPECT_FALSE(file->Zero(past, /*may_unmap=*/false).ok());
  EXPECT_FALSE(file->Zero(past, /*may_unmap=*/true).ok());
  EXPECT_FALSE(file->Discard(past).ok());
  EXPECT_EQ(std::filesystem::file_size(backing_), 1 * kMiB);
}

//
TEST_P(BlockDevice, ResizeTakesTheDevicesSize) {
  Attach(1 * kMiB);
  if (IsSkipped()) return;
  const auto file = Open(/*direct=*/false);
  ASSERT_NE(file, nullptr);
  EXPECT_FALSE(file->Resize(2 * kMiB).ok());
  EXPECT_EQ(file->size(), 1 * kMiB);
  std::filesystem::resize_file(backing_, 3 * kMiB);
  device_->SizeChanged();
  ASSERT_TRUE(file->Resize(2 * kMiB).ok());
  EXPECT_EQ(file->size(), 3 * kMiB);
}

TEST_P(BlockDevice, AReadOnlyDeviceIsNotOpenedForWriting) {
  Attach(1 * kMiB, /*read_only=*/true);
  if (IsSkipped()) return;
  OpenOptions options;
  options.path = device_->path();
  const auto refused = OpenDisk(options);
  ASSERT_FALSE(refused.ok());
  EXPECT_NE(refused.error().message().find("readonly=on"), std::string::npos)
      << refused.error().message();
  options.read_only = true;
  EXPECT_TRUE(OpenDisk(options).ok());
}

TEST_P(BlockDevice, ADeviceThatTheHostUsesIsRefused) {
  Attach(1 * kMiB);
  if (IsSkipped()) return;
  const UniqueFd claimed(open(device_->path().c_str(), O_RDWR | O_EXCL));
  ASSERT_TRUE(claimed.valid());
  OpenOptions options;
  options.path = device_->path();
  const auto refused = OpenDisk(options);
  ASSERT_FALSE(refused.ok());
  EXPECT_NE(refused.error().message().find("the host uses this device"), std::string::npos)
      << refused.error().message();
}

}  // namespace
}  // namespace skiff
