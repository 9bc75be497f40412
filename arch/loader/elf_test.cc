#include "arch/loader/elf.h"

#include <elf.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <cstring>
#include <fstream>
#include <string>
#include <vector>

#include "arch/loader/elf_format.h"

// Whole kernels, sound and broken, are tried in the CPUs' folders. Here: the notes.
namespace skiff {
namespace {

TEST(ElfFormat, HasTheSystemsLayout) {
  EXPECT_EQ(sizeof(elf::FileHeader), sizeof(Elf64_Ehdr));
  EXPECT_EQ(offsetof(elf::FileHeader, e_phoff), offsetof(Elf64_Ehdr, e_phoff));
  EXPECT_EQ(offsetof(elf::FileHeader, e_phnum), offsetof(Elf64_Ehdr, e_phnum));
  EXPECT_EQ(sizeof(elf::ProgramHeader), sizeof(Elf64_Phdr));
  EXPECT_EQ(offsetof(elf::ProgramHeader, p_paddr), offsetof(Elf64_Phdr, p_paddr));
  EXPECT_EQ(offsetof(elf::ProgramHeader, p_memsz), offsetof(Elf64_Phdr, p_memsz));
  EXPECT_EQ(sizeof(elf::NoteHeader), sizeof(Elf64_Nhdr));
  EXPECT_EQ(elf::kSegmentLoad, uint32_t{PT_LOAD});
  EXPECT_EQ(elf::kSegmentNote, uint32_t{PT_NOTE});
  EXPECT_EQ(elf::kTypeExecutable, ET_EXEC);
  EXPECT_EQ(elf::kTypeShared, ET_DYN);
}

// A file that is nothing but notes, and the image that points at them.
class Notes {
 public:
  Notes& Add(uint32_t name_bytes, uint32_t description_bytes, uint32_t type,
             const std::string& payload) {
    const elf::NoteHeader header{name_bytes, description_bytes, type};
    bytes_.append(reinterpret_cast<const char*>(&header), sizeof header);
    bytes_ += payload;
    return *this;
  }

  Result<std::optional<uint64_t>> Find() const {
    const std::string path = testing::TempDir() + "notes";
    std::ofstream(path, std::ios::binary | std::ios::trunc) << bytes_;
    const BootFile file = BootFile::Open("kernel", path).value();
    ElfImage image{};
    image.notes.push_back(FileRange::Make(FileOffset(0), bytes_.size()).value());
    return FindElfNote(file, image, "Xen", 18);
  }

 private:
  std::string bytes_;
};

const std::string kXen("Xen\0", 4);
const std::string kEntry("\x78\x56\x34\x12", 4);

TEST(ElfNotes, AreFoundBehindOthersOfOddLength) {
  const auto found = Notes()
                         .Add(2, 1, 18, std::string("A\0\0\0", 4) + std::string("z\0\0\0", 4))
                         .Add(4, 4, 17, kXen + "none")
                         .Add(4, 4, 18, kXen + kEntry)
                         .Find();
  ASSERT_TRUE(found.ok());
  EXPECT_EQ(*found, std::optional<uint64_t>(0x12345678));
}

TEST(ElfNotes, NameMustBeWhole) {
  EXPECT_EQ(*Notes().Add(4, 4, 18, std::string("Xem\0", 4) + kEntry).Find(), std::nullopt);
  EXPECT_EQ(*Notes().Add(4, 4, 18, "Xenx" + kEntry).Find(), std::nullopt);
  EXPECT_EQ(*Notes().Add(0, 4, 18, kEntry).Find(), std::nullopt);
}

TEST(ElfNotes, WithoutSenseEndTheSearch) {
  EXPECT_EQ(*Notes().Add(4, 400, 18, kXen + kEntry).Find(), std::nullopt);
  EXPECT_EQ(*Notes().Add(UINT32_MAX, UINT32_MAX, 18, kXen + kEntry).Find(), std::nullopt);
  EXPECT_EQ(*Notes().Add(4, 2, 18, kXen + "ab").Find(), std::nullopt);
  EXPECT_EQ(*Notes().Add(4, 0, 18, kXen).Find(), std::nullopt);
}

}  // namespace
}  // namespace skiff
