// virtio-blk as the guest sees it.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "tests/boot/guest.h"

namespace skiff::boot {
namespace {

constexpr uint64_t kMiB = 1 << 20;

TEST(Disks, SixteenWithTheirSizesAndSerials) {
  std::vector<std::string> options = {"-m", "256M"};
  for (uint64_t i = 1; i <= 16; ++i) {
    const std::string path = SparseFile("disk" + std::to_string(i), i * kMiB);
    options.insert(options.end(), {"-d", path + ",serial=data" + std::to_string(i)});
  }
  const Finished finished =
      Boot({.script = "for d in /sys/block/vd*; do "
                      "echo ${d#/sys/block/}=$(cat $d/size),$(cat $d/serial); done",
            .options = options});
  ExpectGoodRun(finished);
  for (int i = 1; i <= 16; ++i) {
    const std::string name = std::string("vd") + static_cast<char>('a' + i - 1);
    EXPECT_EQ(Line(finished, name), std::to_string(i * 2048) + ",data" + std::to_string(i));
  }
}

TEST(Disks, DataWrittenByTheGuestIsInTheFile) {
  const std::string path = SparseFile("data", 8 * kMiB);
  ExpectGoodRun(Boot({.script = "yes skiff | dd of=/dev/vda bs=64k count=32 iflag=fullblock "
                                "conv=fsync",
                      .options = {"-m", "256M", "-d", path}}));
  std::ifstream file(path, std::ios::binary);
  std::string content(2 * kMiB, '\0');
  file.read(content.data(), static_cast<std::streamsize>(content.size()));
  std::string expected;
  while (expected.size() < content.size()) expected += "skiff\n";
  expected.resize(content.size());
  EXPECT_TRUE(content == expected);
  EXPECT_EQ(std::filesystem::file_size(path), 8 * kMiB);
}

TEST(Disks, LargeWritesAndReadsAgree) {
  const std::string path = SparseFile("big", 64 * kMiB);
  ExpectGoodRun(Boot({.script = "dd if=/dev/urandom of=/tmp/r bs=1M count=8 && dd if=/tmp/r "
                                "of=/dev/vda bs=4M conv=fsync && echo 3 >/proc/sys/vm/drop_caches "
                                "&& cmp -n 8388608 /tmp/r /dev/vda",
                      .options = {"-m", "256M", "-c", "2", "-d", path}}));
}

// An overlay, written, trimmed and read again; the image is clean afterwards.
TEST(Disks, Qcow2KeepsWhatTheGuestWrites) {
  const std::string base = SparseFile("base", 64 * kMiB);
  const std::string path = base + ".qcow2";
  ASSERT_EQ(std::system(("qemu-img create -q -f qcow2 -b " + base + " -F raw " + path).c_str()), 0);
  ExpectGoodRun(Boot({.script = "dd if=/dev/urandom of=/tmp/r bs=1M count=8 && dd if=/tmp/r "
                                "of=/dev/vda bs=1M conv=fsync && blkdiscard -o 16M -l 8M /dev/vda; "
                                "echo 3 >/proc/sys/vm/drop_caches; cmp -n 8388608 /tmp/r /dev/vda",
                      .options = {"-m", "256M", "-c", "2", "-d", path + ",format=qcow2"}}));
  EXPECT_EQ(std::system(("qemu-img check -q -f qcow2 " + path).c_str()), 0);
  EXPECT_GT(std::filesystem::file_size(path), 8 * kMiB);
}

// B-07, B-08: a read-only disk refuses writes, keeps working and tells its serial.
TEST(Disks, ReadOnlyOnesRefuseWritesAndKeepWorking) {
  const std::string path = SparseFile("ro", 4 * kMiB);
  const Finished finished =
      Boot({.script = "echo ro=$(cat /sys/block/vda/ro),$(cat /sys/block/vda/serial); "
                      "dd if=/dev/zero of=/dev/vda bs=4k count=1 || dd if=/dev/vda of=/dev/null",
            .options = {"-m", "256M", "-d", path + ",readonly=on,serial=keepme"}});
  ExpectGoodRun(finished);
  EXPECT_EQ(Line(finished, "ro"), "1,keepme");
}

// B-14: requests of 256 KiB and more arrive whole.
TEST(Disks, TakeLongRequests) {
  const Finished finished = Boot({.script = "cat /sys/block/vda/queue/max_segments",
                                  .options = {"-m", "256M", "-d", SparseFile("seg", kMiB)}});
  ExpectGoodRun(finished);
  const size_t at = finished.out.find("skiff-tiny: ready");
  ASSERT_NE(at, std::string::npos);
  EXPECT_GE(std::atoi(finished.out.c_str() + at + 18), 126) << finished.out;
}

TEST(Disks, DriverCanBeReloaded) {
  ExpectGoodRun(Boot(
      {.script = "for i in 1 2 3; do echo virtio1 >/sys/bus/virtio/drivers/"
                 "virtio_blk/unbind; echo virtio1 >/sys/bus/virtio/drivers/"
                 "virtio_blk/bind; done; dd if=/dev/vdb of=/dev/null bs=1M",
       .options = {"-m", "256M", "-d", SparseFile("r0", kMiB), "-d", SparseFile("r1", 2 * kMiB)}}));
}

TEST(Disks, FileSystemsComeBackInEveryCacheMode) {
  std::vector<std::string> options = {"-m", "256M"};
  for (const char* cache : {"writeback", "none", "writethrough", "directsync", "unsafe"}) {
    const std::string path = SparseFile(std::string("fs-") + cache, 16 * kMiB);
    ASSERT_EQ(std::system(("/sbin/mke2fs -q -t ext4 " + path).c_str()), 0);
    options.insert(options.end(), {"-d", path + ",cache=" + cache});
  }
  // One word for the kernel, which takes only some 30.
  ExpectGoodRun(
      Boot({.script = "eval \"mkdir /m && for d in a b c d e; do mount -t ext4 /dev/vd\\$d "
                      "/m && echo hi >/m/f && umount /m && mount -t ext4 /dev/vd\\$d /m && "
                      "grep hi /m/f && umount /m || exit 1; done\"",
            .options = options}));
}

}  // namespace
}  // namespace skiff::boot
