#include "arch/loader/boot_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <fstream>
#include <string>
#include <vector>

namespace skiff {
namespace {

using testing::HasSubstr;

std::string WriteFile(const std::string& name, const std::string& text) {
  const std::string path = testing::TempDir() + name;
  std::ofstream(path, std::ios::trunc) << text;
  return path;
}

GuestMemory OnePage() {
  return GuestMemory::Allocate(std::vector{GuestRange::Make(GuestAddr(0), 4096).value()}).value();
}

TEST(BootFile, ReadsIntoGuestMemory) {
  const auto file = BootFile::Open("initrd", WriteFile("f", "0123456789"));
  ASSERT_TRUE(file.ok());
  const GuestMemory memory = OnePage();
  const auto span = memory.At(GuestRange::Make(GuestAddr(100), 3).value()).value();
  ASSERT_TRUE(file->ReadInto(4, span).ok());
  EXPECT_EQ(memory.Read<char>(GuestAddr(100)).value(), '4');
  EXPECT_EQ(memory.Read<char>(GuestAddr(102)).value(), '6');
  EXPECT_EQ(memory.Read<char>(GuestAddr(103)).value(), '\0');
}

TEST(BootFile, RefusesWhatLiesPastTheEnd) {
  const auto file = BootFile::Open("kernel", WriteFile("f", "0123456789"));
  std::array<std::byte, 4> bytes;
  EXPECT_TRUE(file->ReadAt(6, bytes).ok());
  for (const uint64_t offset : {uint64_t{7}, uint64_t{10}, uint64_t{1} << 40, UINT64_MAX}) {
    const auto result = file->ReadAt(offset, bytes);
    ASSERT_FALSE(result.ok()) << offset;
    EXPECT_EQ(result.error().code(), ErrorCode::kCorrupt);
  }
}

TEST(BootFile, SaysSoWhenTheFileShrinksMeanwhile) {
  const std::string path = WriteFile("f", "0123456789");
  const auto file = BootFile::Open("kernel", path);
  ASSERT_EQ(truncate(path.c_str(), 5), 0);
  std::array<std::byte, 4> bytes;
  const auto result = file->ReadAt(3, bytes);
  ASSERT_FALSE(result.ok());
  EXPECT_THAT(result.error().message(), HasSubstr("ends at 5 bytes"));
}

TEST(BootFile, NamesWhatIsNoFile) {
  const std::string fifo = testing::TempDir() + "fifo";
  unlink(fifo.c_str());
  ASSERT_EQ(mkfifo(fifo.c_str(), 0600), 0);
  const struct {
    std::string path;
    const char* says;
  } cases[] = {
      {testing::TempDir(), "is a directory"},
      {"/dev/null", "is a device"},
      {fifo, "is a pipe"},  // and does not wait for a writer
      {WriteFile("empty", ""), "is empty"},
      {testing::TempDir() + "missing", "No such file"},
  };
  for (const auto& each : cases) {
    const auto file = BootFile::Open("initrd", each.path);
    ASSERT_FALSE(file.ok()) << each.path;
    EXPECT_THAT(file.error().message(), HasSubstr(each.says));
    EXPECT_THAT(file.error().message(), HasSubstr("initrd " + each.path));
  }
}

}  // namespace
}  // namespace skiff
