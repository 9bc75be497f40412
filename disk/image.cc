#include "disk/image.h"

#include "base/overloaded.h"

namespace skiff {

uint64_t LengthOf(const ReadStep& step) {
  return std::visit(Overloaded{
                        [](const ReadFile& s) { return s.source.length(); },
                        [](const ReadZeroes& s) { return s.length; },
                        [](const ReadBelow& s) { return s.range.length(); },
                    },
                    step);
}

}  // namespace skiff
