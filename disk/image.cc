#include "disk/image.h"

#include "base/overloaded.h"

namespace skiff {

uint64_t LengthOf(const ReadStep& step) {
  return std::visit(Overloaded{
                        [](const ReadFile& s) { return s.source.length(); },
                        [](const ReadZeroes& s) { return s.length; },
                        [](const ReadBelow& s) { return s.range.length(); },
                        [](const ReadEncoded& s) { return s.length; },
                    },
                    step);
}

Result<std::shared_ptr<const std::vector<std::byte>>> Image::Decode(const ReadEncoded& /*step*/) {
  return Invalid("this format has no compressed clusters");
}

Result<void> Image::Resize(uint64_t /*size*/) {
  return Unsupported("this kind of image cannot change its size");
}

}  // namespace skiff
