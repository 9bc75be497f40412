// Headers that qemu-img made, as they are and patched by hand.

#include "disk/qcow2/header.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

#include "disk/qcow2/image.h"
#include "tests/fakes/lent_file.h"
#include "tests/fakes/memory_file.h"
#include "tests/fakes/qemu_image.h"

namespace skiff::qcow2 {
namespace {

using Bytes = std::vector<std::byte>;

Bytes MadeWith(const std::string& options, const std::string& size = "64M") {
  return fakes::QemuImage(options, size);
}

template <typename T>
void Patch(Bytes& bytes, size_t at, T value) {
  std::memcpy(bytes.data() + at, &value, sizeof(value));
}

// "opened", or why not.
std::string Outcome(const Bytes& bytes, bool read_only = true) {
  auto file = std::make_unique<fakes::MemoryFile>();
  file->SetBytes(bytes);
  Options options;
  options.read_only = read_only;
  const auto image = Qcow2Image::Open(std::move(file), nullptr, options);
  return image.ok() ? "opened" : image.error().message();
}

void ExpectRefused(const Bytes& bytes, const std::string& word, bool read_only = true) {
  const std::string outcome = Outcome(bytes, read_only);
  EXPECT_NE(outcome.find(word), std::string::npos) << "wanted: " << word << "\ngot: " << outcome;
}

// and more: one field at a time.
TEST(Header, FieldsThatMakeNoSenseAreRefused) {
  struct Case {
    size_t offset;
    uint32_t width;
    uint64_t value;
    const char* word;
  };
  const Case cases[] = {
      {0, 4, 0x514649fa, "magic"},
      {4, 4, 1, "version 1"},
      {4, 4, 4, "version 4"},
      {8, 8, 0x10000, ""},  // a backing file's offset, with a length below
      {20, 4, 8, "cluster size"},
      {20, 4, 22, "cluster size"},
      {20, 4, 0xffffffff, "cluster size"},
      {24, 8, uint64_t{1} << 62, "too big"},
      {24, 8, ~uint64_t{0}, "too big"},
      {24, 8, uint64_t{1} << 40, "L1 table is too small"},
      {32, 4, 1, "AES"},
      {32, 4, 2, "LUKS"},
      {32, 4, 3, "encryption method 3"},
      {36, 4, 0x7fffffff, "L1 table too large"},
      {36, 4, 0, "too small"},
      {40, 8, 0x30001, "active L1 table offset"},
      {40, 8, 0, "overlaps the header"},
      {40, 8, 0x7fffffffffff0000, "out of range"},
      {40, 8, 0x100000000, "past the end"},
      {48, 8, 0x10200, "reference count table offset"},
      {48, 8, 0, "overlaps the header"},
      {56, 4, 0x7fffffff, "reference count table too large"},
      {56, 4, 0, "does not contain a reference count table"},
      {60, 4, 0x7fffffff, "snapshot"},
      {72, 8, uint64_t{1} << 5, "bit 5"},
      {72, 8, uint64_t{1} << 63, "bit 63"},
      {96, 4, 7, "64 bits"},
      {96, 4, 255, "64 bits"},
      {100, 4, 96, "too short"},
      {100, 4, 0x20000, "exceeds cluster size"},
      {100, 4, 106, "multiple of 8"},
      {104, 1, 2, "compression type: 2"},
      {104, 1, 1, "contradicts"},
      {116, 4, 0xfffffff0, "extension too large"},
  };
  const Bytes good = MadeWith("");
  ASSERT_EQ(Outcome(good), "opened");
  for (const Case& one : cases) {
    Bytes bytes = good;
    if (one.width == 8) Patch(bytes, one.offset, Be64(one.value));
    if (one.width == 4) Patch(bytes, one.offset, Be32(static_cast<uint32_t>(one.value)));
    if (one.width == 1) bytes[one.offset] = static_cast<std::byte>(one.value);
    SCOPED_TRACE("offset " + std::to_string(one.offset) + " value " + std::to_string(one.value));
    if (one.word[0] == 0) {
      Patch(bytes, 16, Be32(16));
      ExpectRefused(bytes, "backing file offset");
      Patch(bytes, 8, Be64(0x200));
      Patch(bytes, 16, Be32(1024));
      ExpectRefused(bytes, "too long");
    } else {
      // Writing adds tables to what is read.
      ExpectRefused(bytes, one.word, /*read_only=*/false);
    }
  }
}

TEST(Header, ShortFilesAreRefused) {
  const Bytes good = MadeWith("-o cluster_size=512", "1M");
  for (size_t length = 0; length < 120; ++length)
    EXPECT_NE(Outcome({good.begin(), good.begin() + static_cast<ptrdiff_t>(length)}), "opened");
}

// by the name that the image has for it.
TEST(Header, UnknownFeaturesAreNamed) {
  Bytes bytes = MadeWith("");
  Patch(bytes, 72, Be64(uint64_t{1} << 6));
  // QEMU's table starts with the dirty bit: make it name bit 6.
  auto header = Header::Parse(MadeWith(""));
  ASSERT_TRUE(header.ok());
  const Extension* table = header->Find(kExtensionFeatureNames);
  ASSERT_NE(table, nullptr);
  const auto at = std::search(bytes.begin(), bytes.end(), table->data.begin(), table->data.end());
  ASSERT_NE(at, bytes.end());
  *(at + 1) = std::byte{6};
  std::memcpy(&*(at + 2), "shiny new thing", 16);
  ExpectRefused(bytes, "shiny new thing");
}

//
TEST(Header, LongerHeadersOpen) {
  for (const char* options : {"", "-o compression_type=zstd"}) {
    const Bytes bytes = MadeWith(options);
    EXPECT_EQ(Outcome(bytes), "opened");
  }
  Bytes bytes(MadeWith("-o cluster_size=4k"));
  Patch(bytes, 100, Be32(104));  // as tools before compression types wrote it
  std::fill(bytes.begin() + 104, bytes.begin() + 4096, std::byte{0});
  EXPECT_EQ(Outcome(bytes, false), "opened");
}

// What qemu-img wrote is what we would write.
TEST(Header, SerializesAsItWasRead) {
  for (const char* options :
       {"", "-o compat=0.10", "-o cluster_size=512", "-o cluster_size=2M", "-o refcount_bits=64",
        "-o extended_l2=on", "-o lazy_refcounts=on", "-o compression_type=zstd",
        "-u -b a_base -F raw", "-o compat=0.10 -u -b a_base -F qcow2"}) {
    const Bytes bytes = MadeWith(options, "1M");
    const auto header = Header::Parse(bytes);
    ASSERT_TRUE(header.ok()) << options << ": " << header.error().message();
    const auto again = header->Serialize();
    ASSERT_TRUE(again.ok());
    const size_t length = std::min(again->size(), bytes.size());
    EXPECT_TRUE(
        std::equal(again->begin(), again->begin() + static_cast<ptrdiff_t>(length), bytes.begin()))
        << options;
  }
}

//
TEST(Header, BackingFormatsAreFoundInBothVersions) {
  for (const char* compat : {"0.10", "1.1"}) {
    const auto header =
        Header::Parse(MadeWith(std::string("-o compat=") + compat + " -u -b below -F raw"));
    ASSERT_TRUE(header.ok());
    EXPECT_EQ(header->backing_file, "below");
    EXPECT_EQ(header->backing_format, "raw");
  }
}

Bytes AfterOpening(const Bytes& bytes, bool read_only) {
  fakes::MemoryFile memory;
  memory.SetBytes(bytes);
  Options options;
  options.read_only = read_only;
  const auto image = Qcow2Image::Open(std::make_unique<fakes::LentFile>(memory), nullptr, options);
  EXPECT_TRUE(image.ok());
  if (image.ok()) {
    EXPECT_TRUE((*image)->Close().ok());
  }
  return memory.Bytes();
}

//
TEST(Header, UnknownAutoclearBitsAreClearedByAWriterOnly) {
  Bytes bytes = MadeWith("");
  Patch(bytes, 88, Be64(0x80));
  EXPECT_TRUE(AfterOpening(bytes, /*read_only=*/true) == bytes);
  const Bytes written = AfterOpening(bytes, /*read_only=*/false);
  Patch(bytes, 88, Be64(0));
  EXPECT_TRUE(written == bytes);
}

//
TEST(Header, LazyRefcountsStayOn) {
  const Bytes bytes = MadeWith("-o lazy_refcounts=on");
  EXPECT_TRUE(AfterOpening(bytes, /*read_only=*/false) == bytes);
}

//
TEST(Header, DirtyAndCorruptImagesAreNotWritten) {
  for (const uint64_t bit : {kIncompatDirty, kIncompatCorrupt}) {
    Bytes bytes = MadeWith("");
    Patch(bytes, 72, Be64(bit));
    EXPECT_EQ(Outcome(bytes, /*read_only=*/true), "opened");
    ExpectRefused(bytes, "-r all", /*read_only=*/false);
  }
}

TEST(Header, BitmapsKeepAnImageFromBeingWritten) {
  Bytes bytes = MadeWith("");
  Patch(bytes, 88, Be64(kAutoclearBitmaps));
  EXPECT_EQ(Outcome(bytes, /*read_only=*/true), "opened");
  ExpectRefused(bytes, "bitmaps", /*read_only=*/false);
}

//
TEST(Header, RefcountTablesMayBeLargerThanNeeded) {
  Bytes bytes = MadeWith("", "1M");
  bytes.resize(AlignUp(bytes.size(), 65536u));
  const uint64_t table = bytes.size();
  bytes.resize(table + 4 * 65536);
  std::copy_n(bytes.begin() + 65536, 65536, bytes.begin() + static_cast<ptrdiff_t>(table));
  Patch(bytes, 48, Be64(table));
  Patch(bytes, 56, Be32(4));
  EXPECT_EQ(Outcome(bytes, /*read_only=*/false), "opened");
}

}  // namespace
}  // namespace skiff::qcow2
