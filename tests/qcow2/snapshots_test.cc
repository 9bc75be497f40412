// Snapshots made, applied, deleted and opened by us and by qemu-img in turns, with qemu-img as
// judge.

#include "disk/qcow2/snapshots.h"

#include <gtest/gtest.h>

#include <fstream>

#include "tests/fakes/qemu_image.h"
#include "tests/qcow2/random_work.h"

namespace skiff::test {
namespace {

using Bytes = std::vector<std::byte>;

enum class Start { kEmpty, kBacking, kCompressed };
enum class By { kUs, kQemu };

struct Variant {
  const char* options;  // of qemu-img
  uint64_t size;
  Start start = Start::kEmpty;
};

class SnapshotsOf {
 public:
  explicit SnapshotsOf(const Variant& image) : image_(image), model_(image.size) {
    if (image.start == Start::kBacking) MakeBase();
    if (image.start == Start::kCompressed) {
      for (size_t n = 0; n < model_.size(); ++n) model_[n] = static_cast<std::byte>(n / 1000 % 251);
      std::ofstream file(path_, std::ios::binary);
      const Bytes bytes = fakes::CompressedQemuImage(Options(), model_);
      file.write(reinterpret_cast<const char*>(bytes.data()),
                 static_cast<std::streamsize>(bytes.size()));
      return;
    }
    const std::string below =
        image.start == Start::kBacking ? " -b " + path_ + ".base -F qcow2" : "";
    EXPECT_EQ(Shell("qemu-img create -f qcow2 " + Options() + below + " " + path_ + " " +
                    std::to_string(image.size)),
              0);
  }

  const Bytes& model() const { return model_; }
  void set_model(const Bytes& model) { model_ = model; }

  // Every `stride` bytes, 5000 bytes of this value.
  void Write(Disk& disk, uint64_t stride, uint8_t value) {
    for (uint64_t at = 512 * value; at + 5120 <= model_.size(); at += stride) {
      const auto part = std::span(model_).subspan(at, 5120);
      std::ranges::fill(part, std::byte{value});
      const auto written = disk.Do(BlockOp::kWrite, at, part, part.size());
      EXPECT_TRUE(written.ok()) << written.error().message();
    }
  }
  void Write(uint64_t stride, uint8_t value) {
    WithDisk([&](Disk& disk) { Write(disk, stride, value); });
  }

  template <typename Call>
  void WithDisk(Call call) {
    Disk disk(path_, image_.start == Start::kBacking, 1 << 20);
    call(disk);
    const auto closed = disk.image().Close();
    EXPECT_TRUE(closed.ok()) << closed.error().message();
  }
  // `call` for the engine.
  template <typename Call>
  Result<void> Try(Call call) {
    Result<void> done;
    WithDisk([&](Disk& disk) { done = call(static_cast<Qcow2Image&>(disk.image())); });
    return done;
  }
  static Result<void> Create(Qcow2Image& image, const std::string& name) {
    Snapshot snapshot;
    snapshot.name = name;
    return image.CreateSnapshot(snapshot);
  }

  void Create(By who, const std::string& name) {
    Do(who, "-c " + name, [&](Qcow2Image& image) { return Create(image, name); });
  }
  void Apply(By who, const std::string& name) {
    Do(who, "-a " + name, [&](Qcow2Image& image) { return image.ApplySnapshot(name); });
  }
  void Delete(By who, const std::string& name) {
    Do(who, "-d " + name, [&](Qcow2Image& image) { return image.DeleteSnapshot(name); });
  }
  int Resize(uint64_t size) {
    return Shell("qemu-img resize --shrink -f qcow2 " + path_ + " " + std::to_string(size));
  }
  int Qemu(const std::string& command) { return Shell("qemu-img " + command + " " + path_); }

  // Nothing is wrong, nothing leaked, and both of us read what the model has.
  void Check() {
    EXPECT_EQ(Qemu("check"), 0);
    EXPECT_TRUE(ReadByUs("") == model_);
    EXPECT_TRUE(ReadByQemu("") == model_);
  }
  void CheckSnapshot(const std::string& name, const Bytes& content) {
    EXPECT_TRUE(ReadByUs(name) == content) << name;
    EXPECT_TRUE(ReadByQemu("-l snapshot.name=" + name) == content) << name;
  }

  Result<std::unique_ptr<Qcow2Image>> Open(const qcow2::Options& options) {
    PosixFileOptions file_options;
    file_options.read_only = options.read_only;
    std::unique_ptr<Image> below;
    if (image_.start == Start::kBacking) {
      qcow2::Options read_only;
      read_only.read_only = true;
      auto base = OpenHostFile(path_ + ".base", {.read_only = true});
      below = TRY(Qcow2Image::Open(std::move(base).value(), nullptr, read_only));
    }
    auto file = OpenHostFile(path_, file_options);
    return Qcow2Image::Open(std::move(file).value(), std::move(below), options);
  }

  Bytes ReadByUs(const std::string& snapshot) {
    qcow2::Options options;
    options.read_only = true;
    options.snapshot = snapshot;
    auto image = Open(options);
    EXPECT_TRUE(image.ok()) << image.error().message();
    if (!image.ok()) return {};
    Bytes got((*image)->limits().size);
    if (got.empty()) return got;
    const auto read = fakes::Perform(**image, BlockOp::kRead, 0, got.size(), got);
    EXPECT_TRUE(read.ok()) << read.error().message();
    return got;
  }

 private:
  std::string Options() const { return std::string("-o ") + image_.options; }

  void MakeBase() {
    const std::string size = std::to_string(image_.size);
    EXPECT_EQ(Shell("qemu-img create -f qcow2 " + path_ + ".base " + size), 0);
    EXPECT_EQ(Shell("qemu-io -f qcow2 -c 'write -P 171 0 " + size + "' " + path_ + ".base"), 0);
    std::ranges::fill(model_, std::byte{171});
  }

  template <typename Call>
  void Do(By who, const std::string& command, Call ours) {
    SCOPED_TRACE(command + (who == By::kUs ? " by us" : " by qemu-img"));
    if (who == By::kQemu) {
      EXPECT_EQ(Qemu("snapshot " + command), 0);
    } else {
      const Result<void> done = Try(ours);
      EXPECT_TRUE(done.ok()) << done.error().message();
    }
    EXPECT_EQ(Qemu("check"), 0);
  }

  Bytes ReadByQemu(const std::string& options) {
    const std::string raw = path_ + ".raw";
    EXPECT_EQ(Shell("qemu-img convert -f qcow2 -O raw " + options + " " + path_ + " " + raw), 0);
    return fakes::FileBytes(raw);
  }

  const Variant image_;
  Bytes model_;
  fakes::TempDirectory directory_;
  const std::string path_ = directory_ / "disk.qcow2";
};

class Snapshots : public testing::TestWithParam<Variant> {};

TEST_P(Snapshots, OfUsAndOfQemuAreTheSame) {
  SCOPED_TRACE(GetParam().options);
  SnapshotsOf disk(GetParam());
  for (const By second : {By::kUs, By::kQemu}) {
    const By first = second == By::kUs ? By::kQemu : By::kUs;
    disk.Write(100'352, 1);
    const Bytes one = disk.model();
    disk.Create(first, "one");
    disk.Write(200'192, 2);
    const Bytes two = disk.model();
    disk.Create(second, "two");
    disk.Write(300'032, 3);
    disk.Check();
    disk.CheckSnapshot("one", one);
    disk.CheckSnapshot("two", two);
    disk.Apply(second, "one");
    disk.set_model(one);
    disk.Check();
    disk.Write(400'384, 4);
    disk.Delete(second, "one");
    disk.Check();
    disk.CheckSnapshot("two", two);
    disk.Apply(first, "two");
    disk.set_model(two);
    disk.Delete(second, "two");
    disk.Check();
  }
}

TEST_P(Snapshots, OfAnOpenImageThatGoesOn) {
  SCOPED_TRACE(GetParam().options);
  SnapshotsOf disk(GetParam());
  std::vector<Bytes> contents;
  disk.WithDisk([&](Disk& open) {
    auto& image = static_cast<Qcow2Image&>(open.image());
    for (uint8_t n = 0; n < 12; ++n) {
      disk.Write(open, 150'016, n);
      contents.push_back(disk.model());
      EXPECT_TRUE(SnapshotsOf::Create(image, "s" + std::to_string(n)).ok());
    }
    disk.Write(open, 50'176, 77);
    for (int n = 0; n < 12; n += 2) EXPECT_TRUE(image.DeleteSnapshot("s" + std::to_string(n)).ok());
    disk.Write(open, 150'016, 78);
  });
  disk.Check();
  for (size_t n = 1; n < 12; n += 2) disk.CheckSnapshot("s" + std::to_string(n), contents[n]);
}

INSTANTIATE_TEST_SUITE_P(
    Kinds, Snapshots,
    testing::Values(Variant{"cluster_size=64k", 2 << 20},
                    Variant{"cluster_size=64k", 2 << 20, Start::kBacking},
                    Variant{"cluster_size=64k", 2 << 20, Start::kCompressed},
                    Variant{"cluster_size=64k,compat=0.10", 2 << 20, Start::kBacking},
                    Variant{"cluster_size=512", 1 << 20},
                    Variant{"cluster_size=512", 1 << 20, Start::kCompressed},
                    Variant{"cluster_size=2M", 6 << 20, Start::kCompressed},
                    Variant{"cluster_size=4k,refcount_bits=8", 2 << 20},
                    Variant{"cluster_size=4k,refcount_bits=64", 2 << 20, Start::kCompressed},
                    Variant{"cluster_size=16k,extended_l2=on", 2 << 20, Start::kBacking},
                    Variant{"cluster_size=64k,extended_l2=on", 2 << 20, Start::kCompressed},
                    Variant{"cluster_size=4k,preallocation=metadata", 2 << 20}));

TEST(SnapshotsToo, ManyAndAllGoneAgain) {
  SnapshotsOf disk({"cluster_size=512", 1 << 20});
  disk.Write(10'240, 1);
  disk.WithDisk([&](Disk& open) {
    auto& image = static_cast<Qcow2Image&>(open.image());
    for (int n = 0; n < 300; ++n)
      ASSERT_TRUE(SnapshotsOf::Create(image, "s" + std::to_string(n)).ok()) << n;
  });
  disk.Check();
  EXPECT_EQ(disk.Qemu("snapshot -d s150"), 0);
  disk.WithDisk([&](Disk& open) {
    auto& image = static_cast<Qcow2Image&>(open.image());
    EXPECT_EQ(image.Snapshots().value().back().id, "300");
    for (int n = 0; n < 300; ++n)
      EXPECT_EQ(image.DeleteSnapshot("s" + std::to_string(n)).ok(), n != 150) << n;
  });
  disk.Check();
}

TEST(SnapshotsToo, RefusedBecauseCountsAreTooNarrow) {
  for (const char* options :
       {"cluster_size=4k,refcount_bits=1", "cluster_size=4k,refcount_bits=2"}) {
    SnapshotsOf disk({options, 1 << 20, Start::kCompressed});
    Result<void> made;
    for (int n = 0; n < 4 && made.ok(); ++n)
      made = disk.Try([](Qcow2Image& image) { return SnapshotsOf::Create(image, "one"); });
    ASSERT_FALSE(made.ok());
    EXPECT_EQ(made.error().code(), ErrorCode::kOutOfRange);
    EXPECT_NE(made.error().message().find("too small"), std::string::npos);
    disk.Check();
  }
}

TEST(SnapshotsToo, RefusedBecauseOfTheirNames) {
  SnapshotsOf disk({"cluster_size=64k", 2 << 20});
  disk.Create(By::kUs, "2");
  disk.Create(By::kUs, "other");
  const auto fails = [&](auto call, const char* text) {
    const Result<void> done = disk.Try(call);
    ASSERT_FALSE(done.ok());
    EXPECT_NE(done.error().message().find(text), std::string::npos) << done.error().message();
  };
  fails([](Qcow2Image& image) { return image.ApplySnapshot("none"); }, "not found");
  // As qemu-img: an id is no name.
  fails([](Qcow2Image& image) { return image.DeleteSnapshot("1"); }, "not found");
  fails([](Qcow2Image& image) { return SnapshotsOf::Create(image, std::string(65536, 'x')); },
        "65535 bytes");
  disk.Delete(By::kUs, "2");
  disk.WithDisk([](Disk& open) {
    const auto rest = static_cast<Qcow2Image&>(open.image()).Snapshots();
    ASSERT_EQ(rest.value().size(), 1u);
    EXPECT_EQ(rest.value().front().name, "other");
  });
  disk.Check();
}

TEST(SnapshotsToo, OpenedOnlyToRead) {
  SnapshotsOf disk({"cluster_size=64k", 2 << 20});
  disk.Create(By::kQemu, "one");
  qcow2::Options options;
  options.snapshot = "one";
  EXPECT_FALSE(disk.Open(options).ok());
  options.read_only = true;
  EXPECT_TRUE(disk.Open(options).ok());
  options.snapshot = "1";
  EXPECT_TRUE(disk.Open(options).ok());
  options.snapshot = "two";
  const auto none = disk.Open(options);
  ASSERT_FALSE(none.ok());
  EXPECT_NE(none.error().message().find("no snapshot 'two'"), std::string::npos);
}

// qemu-img gives the disk the size that it had then, and so do we.
TEST(SnapshotsToo, HaveTheirOwnDiskSize) {
  for (const uint64_t size : {uint64_t{0}, uint64_t{1} << 20, uint64_t{20} << 20}) {
    for (const By who : {By::kUs, By::kQemu}) {
      SnapshotsOf disk({"cluster_size=4k", size});
      disk.Write(100'352, 1);
      disk.Create(who, "one");
      const Bytes one = disk.model();
      const uint64_t other = uint64_t{8} << 20;
      EXPECT_EQ(disk.Resize(other), 0);
      Bytes resized = one;
      resized.resize(other);
      disk.set_model(resized);
      disk.Write(100'352, 2);
      disk.Check();
      EXPECT_TRUE(disk.ReadByUs("one") == one);
      disk.Apply(who, "one");
      disk.set_model(one);
      disk.Check();
      disk.Delete(who, "one");
      disk.Check();
    }
  }
}

}  // namespace
}  // namespace skiff::test
