// What a killed writer leaves, and what the next one to open the image makes of it.

#include <gtest/gtest.h>

#include "disk/chain.h"
#include "disk/qcow2/check/check.h"
#include "tests/qcow2/random_work.h"

namespace skiff::test {
namespace {

class Recovery : public testing::Test {
 protected:
  void Create(const std::string& options) {
    ASSERT_EQ(Shell("qemu-img create -f qcow2 " + options + " " + path_ + " 64M"), 0);
  }

  std::unique_ptr<Image> Open() {
    auto file = OpenHostFile(path_, {});
    EXPECT_TRUE(file.ok()) << file.error().message();
    auto image = OpenChain(path_, ImageFormat::kQcow2, std::move(file).value(), {});
    EXPECT_TRUE(image.ok()) << image.error().message();
    return std::move(image).value();
  }

  // Writes, flushes, and goes without closing.
  void WriteAndDie(uint64_t at) {
    const std::unique_ptr<Image> image = Open();
    std::vector<std::byte> bytes(100 * 1024, std::byte{7});
    EXPECT_TRUE(fakes::Perform(*image, BlockOp::kWrite, at, bytes.size(), bytes).ok());
    EXPECT_TRUE(fakes::Perform(*image, BlockOp::kFlush, 0, 0, {}).ok());
  }

  void OpenAndClose() {
    const auto closed = Open()->Close();
    EXPECT_TRUE(closed.ok()) << closed.error().message();
  }

  CheckReport Checked() {
    PosixFileOptions options;
    options.read_only = true;
    auto file = OpenHostFile(path_, options);
    auto report = CheckImage(**file, Repair::kNothing, [](const std::string&) {});
    EXPECT_TRUE(report.ok());
    return *report;
  }

  int TheirCheck() { return Shell("qemu-img check -f qcow2 " + path_); }
  bool HasExtension() {
    return Shell("grep -qa skop " + path_) == 0 || Shell("grep -qa poks " + path_) == 0;
  }

  fakes::TempDirectory directory_;
  const std::string path_ = directory_ / "disk.qcow2";
};

constexpr int kLeaksOnly = 3;

TEST_F(Recovery, ReservedClustersAreGivenBack) {
  for (const std::string options :
       {"", "-o compat=0.10", "-o cluster_size=4k", "-o extended_l2=on"}) {
    SCOPED_TRACE(options);
    Create(options);
    const auto before = Shell("cp " + path_ + " " + path_ + ".before");
    EXPECT_EQ(before, 0);
    for (const uint64_t at : {uint64_t{0}, uint64_t{1} << 20, uint64_t{3} << 20}) {
      WriteAndDie(at);
      EXPECT_TRUE(HasExtension());
      EXPECT_EQ(TheirCheck(), kLeaksOnly);
      EXPECT_EQ(Checked().leaks, 0u);  // they are reserved, which the mark tells
      EXPECT_EQ(Checked().corruptions, 0u);
    }
    OpenAndClose();
    EXPECT_EQ(TheirCheck(), 0);
    EXPECT_FALSE(HasExtension());
    // All that was there is there, and no header field has changed.
    EXPECT_EQ(Shell("qemu-io -f qcow2 -c 'read -P 7 0 100k' -c 'read -P 7 3M 100k' " + path_), 0);
    EXPECT_EQ(Shell("cmp -n 512 " + path_ + " " + path_ + ".before"), 0);
  }
}

// The name follows the extensions: it has to make room.
TEST_F(Recovery, TheBackingFilesNameStays) {
  ASSERT_EQ(Shell("qemu-img create -f raw " + (directory_ / "base.raw") + " 64M"), 0);
  for (const std::string options : {"", "-o compat=0.10", "-o cluster_size=512"}) {
    SCOPED_TRACE(options);
    Create(options + " -b base.raw -F raw");
    WriteAndDie(0);
    WriteAndDie(1 << 20);
    EXPECT_LE(TheirCheck(), kLeaksOnly);
    EXPECT_EQ(Shell("qemu-img info " + path_ + " | grep -q 'backing file: base.raw'"), 0);
    OpenAndClose();
    EXPECT_EQ(Shell("qemu-img info " + path_ + " | grep -q 'backing file: base.raw'"), 0);
    EXPECT_EQ(Shell("qemu-io -f qcow2 -c 'read -P 7 0 100k' -c 'read -P 0 2M 1M' " + path_), 0);
    if (options != "-o cluster_size=512") {
      EXPECT_EQ(TheirCheck(), 0);
    }
  }
}

TEST_F(Recovery, QemuPassesTheMarkByAndWritesOn) {
  Create("");
  WriteAndDie(0);
  EXPECT_EQ(Shell("qemu-io -f qcow2 -c 'write -P 9 8M 1M' " + path_), 0);
  OpenAndClose();
  EXPECT_EQ(TheirCheck(), 0);
  EXPECT_EQ(Shell("qemu-io -f qcow2 -c 'read -P 7 0 100k' -c 'read -P 9 8M 1M' " + path_), 0);
}

// QEMU leaves such an image when it is killed: counts that were never written, and the dirty bit.
TEST_F(Recovery, CountsOfADirtyImageAreMadeAnew) {
  Create("-o lazy_refcounts=on");
  Shell("qemu-io -f qcow2 -c 'write -P 5 0 300k' -c 'flush' -c 'sigraise 9' " + path_);
  ASSERT_EQ(Shell("qemu-img info " + path_ + " | grep -q 'cleanly shut down: no'"), 0);
  ASSERT_NE(TheirCheck(), 0);
  OpenAndClose();
  EXPECT_EQ(TheirCheck(), 0);
  EXPECT_EQ(Shell("qemu-img info " + path_ + " | grep -q 'cleanly shut down: no'"), 1);
  EXPECT_EQ(Shell("qemu-io -f qcow2 -c 'read -P 5 0 300k' " + path_), 0);
}

}  // namespace
}  // namespace skiff::test
