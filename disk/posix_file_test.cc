#include "disk/posix_file.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <thread>
#include <vector>

#include "base/arith.h"
#include "disk/random_file_ops.h"
#include "tests/fakes/temp_directory.h"

namespace skiff {
namespace {

using fakes::TempDirectory;

std::unique_ptr<File> Open(const std::string& path, const PosixFileOptions& options = {}) {
  Result<std::unique_ptr<File>> file = OpenHostFile(path, options);
  if (!file.ok()) ADD_FAILURE() << file.error().message();
  return file.ok() ? std::move(file).value() : nullptr;
}

PosixFileOptions Direct() {
  PosixFileOptions options;
  options.direct = true;
  return options;
}

FileRange At(uint64_t start, uint64_t length) {
  return FileRange::Make(FileOffset(start), length).value();
}

uint64_t HostBlocks(const std::string& path) {
  struct stat status {};
  EXPECT_EQ(stat(path.c_str(), &status), 0);
  return static_cast<uint64_t>(status.st_blocks);
}

struct Place {
  const char* name;
  bool in_memory;  // on tmpfs
  bool direct;
  uint32_t unit;
  uint64_t size;
};

class AnyFile : public testing::TestWithParam<Place> {};

TEST_P(AnyFile, RandomTransfersMatchAModel) {
  const Place& place = GetParam();
  const TempDirectory directory = place.in_memory ? TempDirectory("/dev/shm") : TempDirectory();
  const std::string path = directory.MakeFile("disk", place.size);
  PosixFileOptions options;
  options.direct = place.direct;
  {
    const auto file = Open(path, options);
    ASSERT_NE(file, nullptr);
    RandomFileOps(*file, 600 * kKiB, place.unit, 3).Run(120);
    ASSERT_TRUE(file->Sync().ok());
  }
  const auto again = Open(path);  // another way in sees the same bytes
  RandomFileOps(*again, 600 * kKiB, place.unit, 4).Run(30);
}

INSTANTIATE_TEST_SUITE_P(, AnyFile,
                         testing::Values(Place{"Cached", false, false, 1, 300'000},
                                         Place{"CachedSectors", false, false, 512, 600 * kKiB},
                                         Place{"Direct", false, true, 1, 300'000},
                                         Place{"DirectSectors", false, true, 512, 600 * kKiB},
                                         Place{"DirectEmpty", false, true, 512, 0},
                                         Place{"Tmpfs", true, false, 1, 300'000},
                                         Place{"TmpfsDirect", true, true, 1, 300'000}),
                         [](const auto& test) { return test.param.name; });

TEST(PosixFile, BytesPastTheEndReadAsZeroesAndWritesGrowIt) {
  const TempDirectory directory;
  const std::string path = directory.MakeFile("disk", 1000);
  for (const bool direct : {false, true}) {
    PosixFileOptions options;
    options.direct = direct;
    const auto file = Open(path, options);
    std::vector<std::byte> bytes(1024, std::byte{0xff});
    ASSERT_TRUE(ReadBytes(*file, FileOffset(512), bytes).ok());
    EXPECT_EQ(bytes, std::vector<std::byte>(1024));
    ASSERT_TRUE(ReadBytes(*file, FileOffset(1 * kMiB), bytes).ok());
    EXPECT_EQ(file->size(), 1000u);
  }
  const auto file = Open(path);
  const std::vector<std::byte> sector(512, std::byte{5});
  ASSERT_TRUE(WriteBytes(*file, FileOffset(512), sector).ok());
  EXPECT_EQ(file->size(), 1024u);
}

TEST(PosixFile, DirectWritesInsideABlockKeepTheFileLength) {
  const TempDirectory directory;
  const std::string path = directory.MakeFile("disk", 1000);
  const auto file = Open(path, Direct());
  const std::vector<std::byte> few(100, std::byte{5});
  ASSERT_TRUE(WriteBytes(*file, FileOffset(300), few).ok());
  EXPECT_EQ(std::filesystem::file_size(path), 1000u);
}

TEST(PosixFile, ReadsOfCachedDataNeedNoWait) {
  const TempDirectory directory;
  const auto file = Open(directory.MakeFile("disk", 1 * kMiB));
  std::vector<std::byte> bytes(4096, std::byte{9});
  ASSERT_TRUE(WriteBytes(*file, FileOffset(8192), bytes).ok());
  std::vector<std::byte> got(4096);
  const iovec buffer{got.data(), got.size()};
  if (!file->TryReadAt(FileOffset(8192), {&buffer, 1}))
    GTEST_SKIP() << "the file system under TEST_TMPDIR has no RWF_NOWAIT";
  EXPECT_EQ(got, bytes);
}

TEST(PosixFile, DirectFilesNeverClaimThatTheyNeedNoWait) {
  const TempDirectory directory;
  const auto file = Open(directory.MakeFile("disk", 1 * kMiB), Direct());
  alignas(4096) static std::byte memory[4096];
  const iovec buffer{memory, sizeof memory};
  const bool direct = file->facts().preferred.memory > 1;
  EXPECT_FALSE(direct && file->TryReadAt(FileOffset(0), {&buffer, 1}));
}

TEST(PosixFile, UnmappedAndDiscardedRangesGiveRoomBack) {
  const TempDirectory directory;
  const std::string path = directory.MakeFile("disk", 4 * kMiB);
  const auto file = Open(path);
  if (file->facts().discard_granularity == 0) GTEST_SKIP() << "no holes on this file system";
  const std::vector<std::byte> data(4 * kMiB, std::byte{1});
  ASSERT_TRUE(WriteBytes(*file, FileOffset(0), data).ok());
  ASSERT_TRUE(file->Sync().ok());
  const uint64_t full = HostBlocks(path);
  ASSERT_TRUE(file->Zero(At(0, 1 * kMiB), /*may_unmap=*/true).ok());
  ASSERT_TRUE(file->Discard(At(1 * kMiB, 1 * kMiB)).ok());
  EXPECT_LE(HostBlocks(path), full - 2 * kMiB / 512 + 64);
  ASSERT_TRUE(file->Zero(At(2 * kMiB, 1 * kMiB), /*may_unmap=*/false).ok());
  EXPECT_GE(HostBlocks(path), full - 2 * kMiB / 512 - 64);

  const FileStatus hole = file->Status(At(4096, 4 * kMiB - 4096)).value();
  EXPECT_FALSE(hole.data);
  EXPECT_GE(hole.length, 2 * kMiB - 4096);
  const FileStatus data_status = file->Status(At(3 * kMiB, 5 * kMiB)).value();
  EXPECT_TRUE(data_status.data);
  EXPECT_EQ(data_status.length, 1 * kMiB);
  const FileStatus end = file->Status(At(4 * kMiB, 1 * kMiB)).value();
  EXPECT_FALSE(end.data);
  EXPECT_EQ(end.length, 1 * kMiB);
}

// The host refuses to let the file grow past the limit, after a short write up to it.
TEST(PosixFile, AWriteThatTheHostCutsShortIsAnError) {
  const TempDirectory directory;
  const std::string path = directory.MakeFile("disk", 4096);
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    signal(SIGXFSZ, SIG_IGN);
    const rlimit limit{8192, 8192};
    if (setrlimit(RLIMIT_FSIZE, &limit) != 0) _exit(2);
    const auto file = Open(path);
    const std::vector<std::byte> bytes(8192, std::byte{1});
    const Result<void> written = WriteBytes(*file, FileOffset(4096), bytes);
    _exit(!written.ok() && written.error().os_error() == EFBIG ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

TEST(PosixFile, ErrorsNameTheFileAndThePlace) {
  const TempDirectory directory;
  const std::string path = directory.MakeFile("disk", 4096);
  PosixFileOptions options;
  options.read_only = true;
  const auto file = Open(path, options);
  const Result<void> written = WriteBytes(*file, FileOffset(512), std::vector<std::byte>(100));
  ASSERT_FALSE(written.ok());
  EXPECT_NE(written.error().message().find(path + ": writing 100 bytes at 512"), std::string::npos)
      << written.error().message();
  EXPECT_EQ(written.error().os_error(), EBADF);
}

TEST(PosixFile, PositionsBeyondWhatTheHostCanAddressAreErrors) {
  const TempDirectory directory;
  const auto file = Open(directory.MakeFile("disk", 4096));
  std::vector<std::byte> bytes(512);
  for (const uint64_t at : {uint64_t{INT64_MAX} - 100, uint64_t{1} << 63, UINT64_MAX - 100}) {
    EXPECT_FALSE(ReadBytes(*file, FileOffset(at), bytes).ok());
    EXPECT_FALSE(WriteBytes(*file, FileOffset(at), bytes).ok());
  }
}

TEST(PosixFile, ResizesBothWays) {
  const TempDirectory directory;
  const std::string path = directory.MakeFile("disk", 4096);
  const auto file = Open(path, Direct());
  ASSERT_TRUE(file->Resize(1 * kMiB + 5).ok());
  EXPECT_EQ(file->size(), 1 * kMiB + 5);
  EXPECT_EQ(std::filesystem::file_size(path), 1 * kMiB + 5);
  ASSERT_TRUE(file->Resize(100).ok());
  EXPECT_EQ(file->size(), 100u);
}

TEST(PosixFile, ParallelWritersAgreeOnTheSize) {
  const TempDirectory directory;
  const std::string path = directory.MakeFile("disk", 0);
  const auto file = Open(path, Direct());
  std::vector<std::thread> threads;
  for (uint64_t t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      const std::vector<std::byte> bytes(300, static_cast<std::byte>(t + 1));
      for (uint64_t i = 0; i < 50; ++i)
        ASSERT_TRUE(WriteBytes(*file, FileOffset((i * 4 + t) * 300), bytes).ok());
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(file->size(), 200u * 300u);
  EXPECT_EQ(std::filesystem::file_size(path), 200u * 300u);
  std::vector<std::byte> all(200 * 300);
  ASSERT_TRUE(ReadBytes(*file, FileOffset(0), all).ok());
  for (size_t i = 0; i < all.size(); ++i)
    ASSERT_EQ(all[i], static_cast<std::byte>(i / 300 % 4 + 1)) << i;
}

TEST(HostFacts, ProbingFindsAnAlignmentThatWorks) {
  const TempDirectory directory;
  const std::string path = directory.MakeFile("disk", 1 * kMiB);
  const UniqueFd fd(open(path.c_str(), O_RDWR | O_DIRECT));
  if (!fd.valid()) GTEST_SKIP() << "no direct I/O under TEST_TMPDIR";
  const std::optional<Alignment> found = ProbeDirectAlignment(fd.get());
  ASSERT_TRUE(found.has_value());
  const std::optional<Alignment> told = DirectAlignment(fd.get(), AskHost(fd.get()).value());
  ASSERT_TRUE(told.has_value());
  EXPECT_GE(found->block, told->block);
  EXPECT_GE(found->memory, told->memory);
  EXPECT_LE(found->block, 4096u);
}

TEST(ImageLock, OneWriterOrAnyNumberOfReaders) {
  const TempDirectory directory;
  const std::string path = directory.MakeFile("disk", 4096);
  PosixFileOptions reading;
  reading.read_only = true;
  {
    const auto writer = Open(path);
    for (const PosixFileOptions& options : {PosixFileOptions{}, reading}) {
      const auto second = OpenHostFile(path, options);
      ASSERT_FALSE(second.ok());
      EXPECT_NE(second.error().message().find(path), std::string::npos);
    }
    PosixFileOptions forced = reading;
    forced.lock = false;
    EXPECT_TRUE(OpenHostFile(path, forced).ok());
  }
  const auto reader = Open(path, reading);
  const auto another = Open(path, reading);
  EXPECT_FALSE(OpenHostFile(path, {}).ok());
}

// whatever ends the other program.
TEST(ImageLock, EndsWithItsProcess) {
  const TempDirectory directory;
  const std::string path = directory.MakeFile("disk", 4096);
  int ready[2];
  ASSERT_EQ(pipe(ready), 0);
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    const auto file = Open(path);
    const char byte = 1;
    if (write(ready[1], &byte, 1) == 1) pause();
    _exit(0);
  }
  char byte = 0;
  ASSERT_EQ(read(ready[0], &byte, 1), 1);
  EXPECT_FALSE(OpenHostFile(path, {}).ok());
  kill(child, SIGKILL);
  ASSERT_EQ(waitpid(child, nullptr, 0), child);
  EXPECT_TRUE(OpenHostFile(path, {}).ok());
  close(ready[0]);
  close(ready[1]);
}

}  // namespace
}  // namespace skiff
