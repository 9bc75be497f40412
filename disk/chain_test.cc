// Images over images, made by qemu-img.

#include "disk/chain.h"

#include <gtest/gtest.h>
#include <sys/wait.h>

#include <cstdlib>
#include <filesystem>

#include "tests/fakes/image_io.h"
#include "tests/fakes/temp_directory.h"

namespace skiff {
namespace {

using fakes::TempDirectory;

void Shell(const std::string& command) {
  EXPECT_EQ(std::system(("(" + command + ") >/dev/null 2>&1").c_str()), 0) << command;
}

Result<std::unique_ptr<Image>> Open(const std::string& path, bool read_only = true) {
  PosixFileOptions files;
  files.read_only = read_only;
  std::unique_ptr<File> file = TRY(OpenHostFile(path, files));
  return OpenChain(path, ImageFormat::kQcow2, std::move(file), files);
}

std::string Refusal(const std::string& path) {
  const auto image = Open(path);
  return image.ok() ? "opened" : image.error().message();
}

// The byte that fills the sector at `at`, or "mixed".
std::string SectorAt(Image& image, uint64_t at) {
  std::vector<std::byte> bytes(512);
  const Result<void> done = fakes::Perform(image, BlockOp::kRead, at, bytes.size(), bytes);
  if (!done.ok()) return done.error().message();
  if (bytes != std::vector<std::byte>(512, bytes[0])) return "mixed";
  return std::to_string(static_cast<unsigned>(bytes[0]));
}

// names count from the overlay's folder, whatever the process's folder is.
TEST(Chain, RelativeNamesCountFromTheOverlay) {
  const TempDirectory directory;
  Shell("cd " + (directory / "") + " && mkdir e && truncate -s 1M base.raw && " +
        "qemu-io -f raw -c 'write -P 7 0 1M' base.raw && cd e && " +
        "qemu-img create -f qcow2 -b ../base.raw -F raw overlay.qcow2");
  const auto image = Open(directory / "e/overlay.qcow2");
  ASSERT_TRUE(image.ok()) << image.error().message();
  EXPECT_EQ(SectorAt(**image, 4096), "7");
}

//
TEST(Chain, ALoopIsRefused) {
  const TempDirectory directory;
  Shell("cd " + (directory / "") + " && qemu-img create -f qcow2 a.qcow2 1M && " +
        "qemu-img create -f qcow2 -b a.qcow2 -F qcow2 b.qcow2 && mv b.qcow2 a.qcow2");
  EXPECT_NE(Refusal(directory / "a.qcow2").find("loop"), std::string::npos)
      << Refusal(directory / "a.qcow2");
}

//
TEST(Chain, PastTheEndOfAShorterBackingFileAreZeroes) {
  const TempDirectory directory;
  Shell("cd " + (directory / "") + " && qemu-img create -f qcow2 base.qcow2 1M && " +
        "qemu-io -f qcow2 -c 'write -P 9 0 1M' base.qcow2 && " +
        "qemu-img create -f qcow2 -b base.qcow2 -F qcow2 top.qcow2 2M");
  const auto image = Open(directory / "top.qcow2");
  ASSERT_TRUE(image.ok()) << image.error().message();
  EXPECT_EQ(SectorAt(**image, (1 << 20) - 512), "9");
  EXPECT_EQ(SectorAt(**image, 1 << 20), "0");
}

TEST(Chain, TwoHundredFilesAndNotOneMore) {
  const TempDirectory directory;
  // Headers that differ in nothing: the chain is made by copying one and renaming its base.
  Shell("cd " + (directory / "") + " && qemu-img create -f qcow2 000.qcow2 1M && " +
        "qemu-io -f qcow2 -c 'write -P 5 0 64k' 000.qcow2 && " +
        "qemu-img create -f qcow2 -b 000.qcow2 -F qcow2 template 1M && " +
        "for i in $(seq 1 200); do " +
        "p=$(printf %03d $((i - 1))); n=$(printf %03d $i); cp template $n.qcow2; " +
        "sed -i s/000.qcow2/$p.qcow2/ $n.qcow2; done");
  const auto most = Open(directory / "199.qcow2");
  ASSERT_TRUE(most.ok()) << most.error().message();
  EXPECT_EQ(SectorAt(**most, 0), "5");
  EXPECT_NE(Refusal(directory / "200.qcow2").find("200 files"), std::string::npos);
}

TEST(Chain, WhatIsMissingIsNamed) {
  const TempDirectory directory;
  Shell("cd " + (directory / "") + " && qemu-img create -f qcow2 base.qcow2 1M && " +
        "qemu-img create -f qcow2 -b base.qcow2 -F qcow2 top.qcow2 && rm base.qcow2");
  const std::string refusal = Refusal(directory / "top.qcow2");
  EXPECT_NE(refusal.find("backing file: "), std::string::npos) << refusal;
  EXPECT_NE(refusal.find("base.qcow2"), std::string::npos) << refusal;
  EXPECT_NE(refusal.find("No such file"), std::string::npos) << refusal;
}

TEST(Chain, BackingFilesOfOtherKindsAreRefusedByName) {
  const TempDirectory directory;
  Shell("cd " + (directory / "") +
        " && qemu-img create -u -f qcow2 -b nbd://host/x -F raw net.qcow2 " +
        "1M && truncate -s 1M base && qemu-img create -u -f qcow2 -b base -F vmdk kind.qcow2 1M");
  EXPECT_NE(Refusal(directory / "net.qcow2").find("nbd://host/x"), std::string::npos);
  EXPECT_NE(Refusal(directory / "kind.qcow2").find("vmdk"), std::string::npos);
}

// The files below are shared: two overlays over one base may be written at once.
TEST(Chain, TwoOverlaysShareTheirBase) {
  const TempDirectory directory;
  Shell("cd " + (directory / "") + " && qemu-img create -f qcow2 base.qcow2 1M && " +
        "qemu-img create -f qcow2 -b base.qcow2 -F qcow2 a.qcow2 && cp a.qcow2 b.qcow2");
  const auto a = Open(directory / "a.qcow2", /*read_only=*/false);
  const auto b = Open(directory / "b.qcow2", /*read_only=*/false);
  EXPECT_TRUE(a.ok()) << a.error().message();
  EXPECT_TRUE(b.ok()) << b.error().message();
  EXPECT_NE(Refusal(directory / "b.qcow2"), "opened");
}

}  // namespace
}  // namespace skiff
