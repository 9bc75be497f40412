// Which kernels and initrds boot.
#include <gtest/gtest.h>

#include <cctype>

#include "tests/boot/guest.h"

namespace skiff::boot {
namespace {

class EachFlavour : public testing::TestWithParam<std::string> {};

TEST_P(EachFlavour, BootsAsBzImage) {
  const Finished finished = Boot({.kernel = Vmlinuz(GetParam()),
                                  .initrd = TinyInitrd(GetParam()),
                                  .script = "echo release=$(uname -r); echo cpus=$(nproc)",
                                  .options = {"-m", "256M", "-c", "2"}});
  ExpectGoodRun(finished);
  EXPECT_EQ(Line(finished, "cpus"), "2");
  EXPECT_NE(Line(finished, "release").find(GetParam().substr(0, GetParam().find('-'))),
            std::string::npos);
}

TEST_P(EachFlavour, BootsAsElfByPvh) {
  const Finished finished = Boot({.kernel = Vmlinux(GetParam()),
                                  .initrd = TinyInitrd(GetParam()),
                                  .script = "echo release=$(uname -r); echo cpus=$(nproc)",
                                  .options = {"-m", "256M", "-c", "2"}});
  ExpectGoodRun(finished);
  EXPECT_EQ(Line(finished, "cpus"), "2");
}

INSTANTIATE_TEST_SUITE_P(, EachFlavour, testing::ValuesIn(kFlavours), [](const auto& flavour) {
  std::string name = flavour.param;
  for (char& c : name)
    if (!std::isalnum(static_cast<unsigned char>(c))) c = '_';
  return name;
});

// K-02: initrds of 200 MB and more arrive whole.
TEST(Initrd, Of200MiBArrivesWhole) {
  ExpectGoodRun(Boot({.initrd = PaddedInitrd("200"),
                      .script = "sha256sum -c /pad.sha256",
                      .options = {"-m", "1G"}}));
}

TEST(Initrd, Of300MiBArrivesWholeByPvh) {
  ExpectGoodRun(Boot({.kernel = Vmlinux(),
                      .initrd = PaddedInitrd("300"),
                      .script = "sha256sum -c /pad.sha256",
                      .options = {"-m", "1G"}}));
}

TEST(Initrd, ThatDoesNotFitIsRefusedWithBothSizes) {
  const Finished finished = Boot({.initrd = PaddedInitrd("200"), .options = {"-m", "128M"}});
  ExpectEnd(finished, 125, {"203 MiB", "128 MiB", "give it at least"});
  EXPECT_TRUE(finished.out.empty());
}

// Debian's virtio drivers are modules: without an initrd there is no root.
TEST(Initrd, NoneMeansAPanicForWantOfARoot) {
  const Finished finished =
      Boot({.initrd = "", .script = "", .options = {"-m", "256M", "-d", SparseFile("d", 1 << 20)}});
  ExpectEnd(finished, 123, {"panicked", "never used its disks"});
  EXPECT_NE(finished.out.find("Unable to mount root fs"), std::string::npos) << finished.out;
}

// Debian's own kernel and initrd, systemd from the disk.
void BootDebian(const std::string& disk, const std::string& append) {
  const Finished finished =
      Boot({.kernel = DebianVmlinuz(),
            .initrd = DebianInitrd(),
            .append = "systemd.run=\"findmnt -no SOURCE /\" systemd.run_success_action=poweroff "
                      "systemd.run_failure_action=poweroff " +
                      append,
            .script = "",
            .options = {"-m", "512M", "-c", "2", "-d", disk}});
  ExpectEnd(finished, 0, {"powered off"});
  EXPECT_NE(finished.out.find("systemd[1]"), std::string::npos) << finished.out;
  EXPECT_NE(finished.out.find("/dev/vda"), std::string::npos) << finished.out;
}

TEST(Debian, BootsFromTheWholeDisk) { BootDebian(DebianDisk("raw"), ""); }

TEST(Debian, BootsFromAnOverlay) { BootDebian(DebianDisk("qcow2") + ",format=qcow2", ""); }

TEST(Debian, BootsFromAPartition) { BootDebian(DebianDisk("partitioned"), "root=/dev/vda1 rw"); }

}  // namespace
}  // namespace skiff::boot
