// The fuzz target's body without a fuzzer: its seeds, and some thousand mutations of them, the same
// in every run. Inputs that once did harm join the seeds.

#include <gtest/gtest.h>

#include <random>

#include "tests/fuzz/chain_input.h"

namespace skiff::fuzz {
namespace {

// Changes a few bytes, most of them in the rings, descriptors and headers.
std::vector<std::byte> Mutate(std::vector<std::byte> input, std::mt19937& random) {
  const size_t changes = 1 + random() % 6;
  for (size_t i = 0; i < changes; ++i) {
    const size_t end = random() % 4 == 0 ? input.size() : 0x340;
    const uint8_t interesting[] = {0, 1, 2, 3, 5, 16, 0x7f, 0x80, 0xff};
    const auto value = random() % 2 == 0 ? interesting[random() % std::size(interesting)]
                                         : static_cast<uint8_t>(random());
    input[random() % end] = std::byte{value};
  }
  return input;
}

TEST(ChainRegression, Seeds) {
  for (const auto& seed : ChainSeeds()) RunChainInput(seed);
}

TEST(ChainRegression, ShortInputs) {
  const auto seed = ChainSeeds().front();
  for (size_t length = 0; length < 0x120; length += 7) RunChainInput(std::span(seed).first(length));
}

TEST(ChainRegression, Mutations) {
  std::mt19937 random(20261130);
  const auto seeds = ChainSeeds();
  for (int i = 0; i < 3000; ++i) RunChainInput(Mutate(seeds[random() % seeds.size()], random));
}

}  // namespace
}  // namespace skiff::fuzz
