#include "devices/virtio/device.h"

#include <algorithm>
#include <cstring>

namespace skiff::virtio {

void ReadConfigBytes(std::span<const std::byte> config, uint32_t offset,
                     std::span<std::byte> data) {
  std::ranges::fill(data, std::byte{0});
  if (offset >= config.size()) return;
  const auto tail = config.subspan(offset);
  std::ranges::copy(tail.first(std::min(tail.size(), data.size())), data.begin());
}

}  // namespace skiff::virtio
