#include "disk/open.h"

#include <gtest/gtest.h>
#include <linux/capability.h>
#include <poll.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <fstream>
#include <vector>

#include "tests/fakes/temp_directory.h"

namespace skiff {
namespace {

using fakes::TempDirectory;

OpenOptions At(const std::string& path) {
  OpenOptions options;
  options.path = path;
  return options;
}

std::string Refusal(const OpenOptions& options) {
  const auto disk = OpenDisk(options);
  return disk.ok() ? "opened" : disk.error().message();
}

void ExpectMentions(const std::string& text, const std::vector<std::string>& words) {
  EXPECT_EQ(text.find('\n'), std::string::npos);
  for (const std::string& word : words)
    EXPECT_NE(text.find(word), std::string::npos) << "no \"" << word << "\" in: " << text;
}

// root may open anything; so that permissions count, this thread gives that up for a while.
class WithoutPrivileges {
 public:
  WithoutPrivileges() {
    header_.version = _LINUX_CAPABILITY_VERSION_3;
    EXPECT_EQ(syscall(SYS_capget, &header_, before_.data()), 0);
    auto now = before_;
    for (auto& word : now) word.effective = 0;
    EXPECT_EQ(syscall(SYS_capset, &header_, now.data()), 0);
  }
  ~WithoutPrivileges() { syscall(SYS_capset, &header_, before_.data()); }
  WithoutPrivileges(const WithoutPrivileges&) = delete;
  WithoutPrivileges& operator=(const WithoutPrivileges&) = delete;

 private:
  __user_cap_header_struct header_{};
  std::array<__user_cap_data_struct, _LINUX_CAPABILITY_U32S_3> before_{};
};

Result<void> Complete(BlockQueue& queue, BlockRequest& request) {
  queue.Submit(request);
  queue.Kick();
  const BlockRequest* reaped = nullptr;
  pollfd ready{queue.completion_event(), POLLIN, 0};
  while (reaped == nullptr && poll(&ready, 1, 30'000) == 1) reaped = queue.Reap();
  EXPECT_EQ(reaped, &request);
  EXPECT_EQ(queue.Reap(), nullptr);
  return request.outcome;
}

TEST(OpenDisk, MissingFile) {
  const TempDirectory directory;
  const std::string path = directory / "none";
  ExpectMentions(Refusal(At(path)), {path, "No such file", "truncate -s"});
}

TEST(OpenDisk, Directory) {
  const TempDirectory directory;
  const std::string path = directory / ".";
  ExpectMentions(Refusal(At(path)), {path, "is a directory"});
}

TEST(OpenDisk, FifoIsRefusedWithoutWaitingForAWriter) {
  const TempDirectory directory;
  const std::string path = directory / "fifo";
  ASSERT_EQ(mkfifo(path.c_str(), 0600), 0);
  ExpectMentions(Refusal(At(path)), {path, "FIFO", "regular file or a block device"});
}

TEST(OpenDisk, CharacterDevice) {
  ExpectMentions(Refusal(At("/dev/null")), {"/dev/null", "character device"});
}

TEST(OpenDisk, EmptyFileOnlyWhereItIsAllowed) {
  const TempDirectory directory;
  OpenOptions options = At(directory.MakeFile("disk", 0));
  ExpectMentions(Refusal(options), {options.path, "is empty", "truncate -s"});
  options.allow_empty = true;
  const auto disk = OpenDisk(options);
  ASSERT_TRUE(disk.ok());
  EXPECT_EQ(disk.value()->limits().size, 0u);
}

TEST(OpenDisk, NoPermissionSuggestsReadOnlyWhereThatWouldWork) {
  const TempDirectory directory;
  OpenOptions options = At(directory.MakeFile("disk", 4096));
  ASSERT_EQ(chmod(options.path.c_str(), 0444), 0);
  {
    const WithoutPrivileges no_longer_root;
    ExpectMentions(Refusal(options), {options.path, "Permission denied", "readonly=on would work"});
  }
  ASSERT_EQ(chmod(options.path.c_str(), 0), 0);
  const WithoutPrivileges no_longer_root;
  for (const bool read_only : {false, true}) {
    options.read_only = read_only;
    ExpectMentions(Refusal(options), {options.path, "Permission denied", "change its permissions"});
  }
}

TEST(OpenDisk, ASecondWriterIsTold) {
  const TempDirectory directory;
  const OpenOptions options = At(directory.MakeFile("disk", 4096));
  auto first = OpenDisk(options);
  ASSERT_TRUE(first.ok());
  ExpectMentions(Refusal(options), {options.path, "in use", "readonly=on"});
  first = Invalid("closed");
  EXPECT_TRUE(OpenDisk(options).ok());
}

// a guest writes a qcow2 header to its raw disk.
TEST(OpenDisk, ContentNeverMakesADiskQcow2) {
  const TempDirectory directory;
  OpenOptions options = At(directory.MakeFile("disk", 65536));
  {
    auto disk = OpenDisk(options);
    ASSERT_TRUE(disk.ok());
    auto queue = disk.value()->OpenQueue(1);
    std::array<char, 512> sector{'Q', 'F', 'I', '\xfb', 0, 0, 0, 3};
    const iovec buffer{sector.data(), sector.size()};
    BlockRequest write;
    write.op = BlockOp::kWrite;
    write.range = DiskRange::Make(DiskOffset(0), 512).value();
    write.buffers = {&buffer, 1};
    ASSERT_TRUE(Complete(*queue.value(), write).ok());
  }
  for (const bool read_only : {false, true}) {
    options.read_only = read_only;
    ExpectMentions(Refusal(options), {options.path, "format=qcow2", "format=raw"});
  }
  options.read_only = false;
  options.format = ImageFormat::kRaw;
  EXPECT_EQ(Refusal(options), "opened");
  options.format = ImageFormat::kQcow2;
  ExpectMentions(Refusal(options), {options.path, "cluster size"});
}

TEST(OpenDisk, AnEmptyFileIsNoQcow2) {
  const TempDirectory directory;
  OpenOptions options = At(directory.MakeFile("disk", 0));
  options.format = ImageFormat::kQcow2;
  ExpectMentions(Refusal(options), {options.path, "not a qcow2 image"});
}

TEST(OpenDisk, FormatRawTakesAnyContent) {
  const TempDirectory directory;
  OpenOptions options = At(directory / "tiny");
  std::ofstream(options.path) << "QF";  // shorter than any magic
  const auto disk = OpenDisk(options);
  ASSERT_TRUE(disk.ok());
  EXPECT_EQ(disk.value()->limits().size, 512u);
}

TEST(OpenDisk, CacheModesShowInTheLimits) {
  const TempDirectory directory;
  OpenOptions options = At(directory.MakeFile("disk", 65536));
  const std::pair<const char*, bool> modes[] = {{"writeback", true},
                                                {"none", true},
                                                {"writethrough", false},
                                                {"directsync", false},
                                                {"unsafe", true}};
  for (const auto& [name, is_volatile] : modes) {
    options.cache = ParseCacheMode(name).value();
    const auto disk = OpenDisk(options);
    ASSERT_TRUE(disk.ok()) << name << ": " << disk.error().message();
    EXPECT_EQ(disk.value()->limits().volatile_cache, is_volatile) << name;
  }
  EXPECT_FALSE(ParseCacheMode("writeBack").has_value());
  EXPECT_FALSE(ParseCacheMode("").has_value());
}

// on tmpfs the page cache stands in, or newer kernels pretend; either way it works.
TEST(OpenDisk, DirectModesWorkOnTmpfs) {
  const TempDirectory directory("/dev/shm");
  OpenOptions options = At(directory.MakeFile("disk", 65536));
  options.cache = CacheMode::kNone;
  auto disk = OpenDisk(options);
  ASSERT_TRUE(disk.ok()) << disk.error().message();
  auto queue = disk.value()->OpenQueue(1);
  std::array<std::byte, 512> sector{};
  const iovec buffer{sector.data(), sector.size()};
  BlockRequest read;
  read.op = BlockOp::kRead;
  read.range = DiskRange::Make(DiskOffset(512), 512).value();
  read.buffers = {&buffer, 1};
  EXPECT_TRUE(Complete(*queue.value(), read).ok());
}

TEST(OpenDisk, ReadOnlyDisksTakeNoWrites) {
  const TempDirectory directory;
  OpenOptions options = At(directory.MakeFile("disk", 65536));
  options.read_only = true;
  auto disk = OpenDisk(options);
  ASSERT_TRUE(disk.ok());
  EXPECT_TRUE(disk.value()->limits().read_only);
  EXPECT_EQ(disk.value()->limits().max_discard, 0u);
  auto queue = disk.value()->OpenQueue(1);
  for (const BlockOp op : {BlockOp::kWrite, BlockOp::kDiscard, BlockOp::kWriteZeroes}) {
    std::array<std::byte, 512> sector{};
    const iovec buffer{sector.data(), sector.size()};
    BlockRequest request;
    request.op = op;
    request.range = DiskRange::Make(DiskOffset(0), 512).value();
    request.buffers = {&buffer, 1};
    const Result<void> outcome = Complete(*queue.value(), request);
    ASSERT_FALSE(outcome.ok());
    EXPECT_EQ(outcome.error().code(), ErrorCode::kReadOnly);
  }
  BlockRequest flush;
  EXPECT_TRUE(Complete(*queue.value(), flush).ok());
}

}  // namespace
}  // namespace skiff
