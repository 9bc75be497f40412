#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <map>
#include <random>

#include "disk/posix_file.h"
#include "disk/qcow2/image.h"
#include "disk/resize.h"
#include "tests/fakes/image_io.h"
#include "tests/fakes/temp_directory.h"

namespace skiff::test {

using namespace qcow2;

inline int Shell(const std::string& command) {
  const int status = std::system((command + " >/dev/null 2>&1").c_str());
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128;
}

struct Kind {
  const char* options;       // of qemu-img create
  uint64_t size;             // of the disk
  const char* backing = "";  // raw or nothing
};

// An image opened by the engine.
class Disk {
 public:
  Disk(const std::string& path, bool backing, uint64_t l2_cache_size) {
    auto file = OpenHostFile(path, {});
    EXPECT_TRUE(file.ok());
    std::unique_ptr<Image> below;
    if (backing) {
      PosixFileOptions read_only;
      read_only.read_only = true;
      auto below_file = OpenHostFile(path + ".base", read_only);
      Options options;
      options.read_only = true;
      auto image = Qcow2Image::Open(std::move(below_file).value(), nullptr, options);
      EXPECT_TRUE(image.ok()) << image.error().message();
      below = std::move(image).value();
    }
    Options options;
    options.l2_cache_size = l2_cache_size;
    auto image = Qcow2Image::Open(std::move(file).value(), std::move(below), options);
    EXPECT_TRUE(image.ok()) << image.error().message();
    image_ = std::move(image).value();
  }

  Result<void> Do(BlockOp op, uint64_t at, std::span<std::byte> bytes, uint64_t length,
                  bool may_unmap = false) {
    return fakes::Perform(*image_, op, at, length, bytes, may_unmap);
  }
  Image& image() { return *image_; }

 private:
  std::unique_ptr<Qcow2Image> image_;
};

// Random requests to an image that qemu-img made, with a byte vector as the model and qemu-img as
// judge after each closing.
class RandomWork {
 public:
  RandomWork(const Kind& kind, uint32_t seed) : kind_(kind), random_(seed), model_(kind.size) {
    path_ = directory_ / "disk.qcow2";
    const std::string size = std::to_string(kind.size);
    if (backed()) {
      EXPECT_EQ(Shell("qemu-img create -f qcow2 " + path_ + ".base " + size), 0);
      EXPECT_EQ(Shell("qemu-io -f qcow2 -c 'write -P 171 0 " + size + "' " + path_ + ".base"), 0);
      std::fill(model_.begin(), model_.end(), std::byte{171});
    }
    const std::string below = backed() ? " -b " + path_ + ".base -F qcow2" : "";
    EXPECT_EQ(Shell("qemu-img create -f qcow2 -o " + std::string(kind.options) + below + " " +
                    path_ + " " + size),
              0);
  }

  void Run(int rounds, int operations) {
    for (int round = 0; round < rounds && !testing::Test::HasFailure(); ++round) {
      {
        Disk disk(path_, backed(), kCache);
        for (int i = 0; i < operations && !testing::Test::HasFailure(); ++i) Step(disk);
        Compare(disk);
        const auto closed = disk.image().Close();
        EXPECT_TRUE(closed.ok()) << closed.error().message();
      }
      EXPECT_EQ(Shell("qemu-img check -f qcow2 " + path_), 0) << "round " << round;
    }
    EXPECT_TRUE(Converted("") == model_);
  }

  // The disk is full of compressed clusters, of zeroes and of noise.
  void StartCompressed() {
    for (size_t at = 0; at < model_.size(); at += 512) {
      const auto noise = static_cast<uint32_t>(at / 4096 % 3);  // 0: zeroes, 1: text, 2: noise
      for (size_t n = 0; n < 512; ++n)
        model_[at + n] = static_cast<std::byte>(noise == 0   ? 0
                                                : noise == 1 ? 'a' + at / 512 % 20
                                                             : random_() & 0xff);
    }
    const std::string raw = path_ + ".source";
    std::ofstream(raw, std::ios::binary)
        .write(reinterpret_cast<const char*>(model_.data()),
               static_cast<std::streamsize>(model_.size()));
    EXPECT_EQ(Shell("qemu-img convert -c -f raw -O qcow2 -o " + std::string(kind_.options) + " " +
                    raw + " " + path_),
              0);
    EXPECT_TRUE(Opened() == model_);
  }

  // One change of the image as a whole, by us or by qemu-img; then all is as the model says.
  void Change() {
    const std::string name = "s" + std::to_string(Below(4));
    const bool known = snapshots_.contains(name);
    switch (Below(4)) {
      case 0:
      case 1:
        if (!known) {
          CreateSnapshot(name);
        } else {
          DeleteSnapshot(name);
        }
        break;
      case 2:
        if (known) ApplySnapshot(name);
        break;
      default:
        Resize((1 + Below(2 * kind_.size / 512)) * 512);
    }
    EXPECT_EQ(Shell("qemu-img check -f qcow2 " + path_), 0);
    EXPECT_TRUE(Opened() == model_);
    if (Below(4) != 0) return;
    for (const auto& [each, content] : snapshots_) {
      // qemu-img shows a snapshot in the size that the disk has now.
      const std::vector<std::byte> got = Converted("-l " + each);
      const auto common = static_cast<ptrdiff_t>(std::min(got.size(), content.size()));
      EXPECT_TRUE(std::equal(got.begin(), got.begin() + common, content.begin())) << each;
    }
  }

  void ExpectNoRoomForASnapshot() {
    {
      Disk disk(path_, backed(), kCache);
      const auto made = static_cast<Qcow2Image&>(disk.image()).CreateSnapshot({});
      EXPECT_FALSE(made.ok());
      EXPECT_NE(made.error().message().find("too small"), std::string::npos);
      Expect(disk.image().Close());
    }
    EXPECT_EQ(Shell("qemu-img check -f qcow2 " + path_), 0);
  }

  std::vector<std::byte> TakeSnapshot(const std::string& name) {
    EXPECT_EQ(Shell("qemu-img snapshot -c " + name + " " + path_), 0);
    return model_;
  }
  std::vector<std::byte> InSnapshot(const std::string& name) { return Converted("-l " + name); }

 private:
  static constexpr uint64_t kCache = 16 * 1024;

  void CreateSnapshot(const std::string& name) {
    snapshots_[name] = model_;
    if (Below(3) == 0) {
      EXPECT_EQ(Shell("qemu-img snapshot -c " + name + " " + path_), 0);
      return;
    }
    Snapshot snapshot;
    snapshot.name = name;
    InImage([&](Qcow2Image& image) { return image.CreateSnapshot(snapshot); });
  }

  void DeleteSnapshot(const std::string& name) {
    snapshots_.erase(name);
    if (Below(3) == 0) {
      EXPECT_EQ(Shell("qemu-img snapshot -d " + name + " " + path_), 0);
      return;
    }
    InImage([&](Qcow2Image& image) { return image.DeleteSnapshot(name); });
  }

  void ApplySnapshot(const std::string& name) {
    model_ = snapshots_[name];
    InImage([&](Qcow2Image& image) { return image.ApplySnapshot(name); });
  }

  void Resize(uint64_t size) {
    model_.resize(size);
    InImage([&](Qcow2Image& image) { return ResizeDisk(image, size); });
  }

  template <typename Call>
  void InImage(Call call) {
    Disk disk(path_, backed(), kCache);
    Expect(call(static_cast<Qcow2Image&>(disk.image())));
    Expect(disk.image().Close());
  }

  bool backed() const { return kind_.backing[0] != 0; }
  uint64_t Below(uint64_t end) { return random_() % end; }

  void Step(Disk& disk) {
    const uint64_t sectors = model_.size() / 512;
    const uint64_t first = Below(sectors);
    const uint64_t most = Below(4) == 0 ? sectors : 64;
    const uint64_t count = 1 + Below(std::min(sectors - first, most));
    const uint64_t at = first * 512;
    const uint64_t length = count * 512;
    const auto part = std::span(model_).subspan(at, length);
    switch (Below(8)) {
      case 0:
        Expect(disk.Do(BlockOp::kFlush, 0, {}, 0));
        break;
      case 1: {
        const bool unmap = Below(2) != 0;
        Expect(disk.Do(BlockOp::kWriteZeroes, at, {}, length, unmap));
        std::fill(part.begin(), part.end(), std::byte{0});
        break;
      }
      case 2:
        Expect(disk.Do(BlockOp::kDiscard, at, {}, length));
        Expect(disk.Do(BlockOp::kRead, at, part, length));  // old or zero: take what it says
        break;
      case 3: {
        std::vector<std::byte> got(length);
        Expect(disk.Do(BlockOp::kRead, at, got, length));
        EXPECT_TRUE(std::equal(part.begin(), part.end(), got.begin())) << at << "+" << length;
        break;
      }
      default:
        std::fill(part.begin(), part.end(), static_cast<std::byte>(1 + Below(255)));
        Expect(disk.Do(BlockOp::kWrite, at, part, length));
    }
  }

  static void Expect(const Result<void>& result) {
    EXPECT_TRUE(result.ok()) << result.error().message();
  }

  void Compare(Disk& disk) {
    std::vector<std::byte> got(model_.size());
    Expect(disk.Do(BlockOp::kRead, 0, got, got.size()));
    EXPECT_TRUE(got == model_);
  }

  // The content as the engine reads it.
  std::vector<std::byte> Opened() {
    Disk disk(path_, backed(), kCache);
    std::vector<std::byte> got(model_.size());
    Expect(disk.Do(BlockOp::kRead, 0, got, got.size()));
    return got;
  }

  // The content as qemu-img reads it.
  std::vector<std::byte> Converted(const std::string& options) {
    const std::string raw = path_ + ".raw";
    EXPECT_EQ(Shell("qemu-img convert -f qcow2 -O raw " + options + " " + path_ + " " + raw), 0);
    std::vector<std::byte> got(model_.size());
    auto file = OpenHostFile(raw, {});
    EXPECT_TRUE(file.ok() && ReadBytes(**file, FileOffset(0), got).ok());
    return got;
  }

  const Kind kind_;
  std::mt19937 random_;
  std::vector<std::byte> model_;
  std::map<std::string, std::vector<std::byte>> snapshots_;
  fakes::TempDirectory directory_;
  std::string path_;
};

}  // namespace skiff::test
