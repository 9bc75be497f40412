#include "arch/loader/file_kind.h"

#include <gtest/gtest.h>

#include <string>

// Every kind is tried as a kernel in arch/x86_64/boot. Here: what could be mistaken.
namespace skiff {
namespace {

FileKind Kind(const std::string& start) { return Identify(std::as_bytes(std::span(start))); }

TEST(FileKind, KernelsThatAreEfiProgramsTooAreKernels) {
  std::string bz_image(kIdentifyBytes, '\0');
  bz_image.replace(0, 2, "MZ");
  EXPECT_EQ(Kind(bz_image), FileKind::kEfi);
  bz_image.replace(0x202, 4, "HdrS");
  EXPECT_EQ(Kind(bz_image), FileKind::kBzImage);

  std::string arm64(kIdentifyBytes, '\0');
  arm64.replace(0, 2, "MZ");
  arm64.replace(0x38, 4, "ARM\x64");
  EXPECT_EQ(Kind(arm64), FileKind::kArm64Image);
}

TEST(FileKind, ShortFilesAreNotReadPastTheirEnd) {
  EXPECT_EQ(Kind("\x1f"), FileKind::kUnknown);
  EXPECT_EQ(Kind("BZ"), FileKind::kText);
  EXPECT_EQ(Kind("M"), FileKind::kText);
}

TEST(FileKind, OneControlCharacterMakesItNoText) {
  EXPECT_EQ(Kind("#!/bin/sh\n\techo \xc3\xa4\r\n"), FileKind::kText);
  EXPECT_EQ(Kind(std::string("text\0", 5)), FileKind::kUnknown);
}

}  // namespace
}  // namespace skiff
