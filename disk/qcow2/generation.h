#pragma once

#include <memory>

namespace skiff::qcow2 {

// The lease that plans hold: a stretch of time. Each keeps the next alive, so once one has expired,
// all plans made in it and before it are gone, and clusters freed by then belong to nobody.
struct Generation {
  std::shared_ptr<Generation> next;

  Generation() = default;
  Generation(const Generation&) = delete;
  Generation& operator=(const Generation&) = delete;
  // Not by recursion: there may be many. Only the one who is last takes a successor apart.
  ~Generation() {
    std::shared_ptr<Generation> rest = std::move(next);
    while (rest != nullptr && rest.use_count() == 1) {
      std::shared_ptr<Generation> after = std::move(rest->next);
      rest = std::move(after);
    }
  }
};

}  // namespace skiff::qcow2
