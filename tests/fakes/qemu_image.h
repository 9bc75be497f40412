#pragma once

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdlib>
#include <fstream>
#include <span>
#include <string>
#include <vector>

#include "tests/fakes/temp_directory.h"

namespace skiff::fakes {

inline std::vector<std::byte> FileBytes(const std::string& path) {
  std::ifstream file(path, std::ios::binary | std::ios::ate);
  EXPECT_TRUE(file.is_open()) << path;
  std::vector<std::byte> bytes(file.is_open() ? static_cast<size_t>(file.tellg()) : 0);
  file.seekg(0).read(reinterpret_cast<char*>(bytes.data()),
                     static_cast<std::streamsize>(bytes.size()));
  return bytes;
}

// The bytes of a qcow2 image that `qemu-img create` makes with these options ("-o …", "-b …") and
// size of the disk.
inline std::vector<std::byte> QemuImage(const std::string& options, const std::string& size) {
  const TempDirectory directory;
  const std::string path = directory / "new.qcow2";
  const std::string command = "qemu-img create -q -f qcow2 " + options + " " + path + " " + size;
  EXPECT_EQ(std::system(command.c_str()), 0) << command;
  return FileBytes(path);
}

// The same of one with this disk, compressed.
inline std::vector<std::byte> CompressedQemuImage(const std::string& options,
                                                  std::span<const std::byte> disk) {
  const TempDirectory directory;
  const std::string raw = directory / "disk.raw";
  const std::string path = directory / "new.qcow2";
  std::ofstream(raw, std::ios::binary)
      .write(reinterpret_cast<const char*>(disk.data()), static_cast<std::streamsize>(disk.size()));
  const std::string command =
      "qemu-img convert -c -f raw -O qcow2 " + options + " " + raw + " " + path;
  EXPECT_EQ(std::system(command.c_str()), 0) << command;
  return FileBytes(path);
}

}  // namespace skiff::fakes
