#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace skiff::fuzz {

// Runs a virtio-blk device on a guest whose memory holds `input`: rings, descriptors, requests
// and all. Aborts if the device leaves the disk's bounds or does not come back from a reset.
//
// Byte 0 chooses the negotiated features; the rest is memory from address 0 on: the descriptor
// table (16 entries) at 0, the available ring at 0x100, the used ring at 0x140, anything behind.
void RunChainInput(std::span<const std::byte> input);

// Sound requests of every kind, direct and indirect, to mutate.
std::vector<std::vector<std::byte>> ChainSeeds();

}  // namespace skiff::fuzz
