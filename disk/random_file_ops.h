#pragma once

#include <cstdint>
#include <random>
#include <vector>

#include "disk/file.h"

namespace skiff {

// Does random things to a file and to a byte vector, and expects that they stay equal: reads,
// writes and zeroes of all lengths and alignments, in one buffer and in many, up to the end of the
// file and across it.
class RandomFileOps {
 public:
  // `unit`: every position and length is a multiple of it. `room`: nothing goes past it.
  RandomFileOps(File& file, uint64_t room, uint32_t unit, uint32_t seed);

  void Run(int count);  // with GoogleTest's ASSERTs

 private:
  struct Stretch {
    uint64_t start;
    uint64_t length;
  };
  uint64_t Below(uint64_t bound);  // 0 to bound - 1
  Stretch RandomStretch();
  std::vector<iovec> Split(std::vector<std::byte>& bytes);
  void Read(const Stretch& where);
  void Write(const Stretch& where);
  void Zero(const Stretch& where);
  void CompareAll();

  File& file_;
  const uint64_t room_;
  const uint32_t unit_;
  std::mt19937_64 random_;
  std::vector<std::byte> model_;  // `room` bytes; past the end of the file: zeroes
  uint64_t size_;                 // that the file should have
};

}  // namespace skiff
