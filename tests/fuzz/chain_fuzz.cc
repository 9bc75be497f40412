#include <cstdint>
#include <span>

#include "tests/fuzz/chain_input.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  skiff::fuzz::RunChainInput(std::as_bytes(std::span(data, size)));
  return 0;
}
