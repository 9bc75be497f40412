#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/mutex.h"
#include "devices/doorbell.h"

namespace skiff::virtio {

// The distance between the doorbells of two queues. Each queue has its own address, so that the
// kernel can tell them apart without looking at what is written.
inline constexpr uint32_t kDoorbellStride = 4;

// Binds the queues' doorbells to their kick events while the BAR is mapped and the queue enabled.
// Where the binder refuses, kicks arrive as writes to the BAR: slower, not wrong.
//
// Thread-safe; a leaf among the locks. The binder and the event descriptors outlive it.
class Doorbells {
 public:
  // `event_fds` by queue.
  Doorbells(DoorbellBinder& binder, std::vector<int> event_fds);
  ~Doorbells();
  Doorbells(const Doorbells&) = delete;
  Doorbells& operator=(const Doorbells&) = delete;

  // The address of queue 0's doorbell; nullopt while the guest cannot reach it.
  void MoveTo(std::optional<GuestAddr> first) EXCLUDES(mutex_);
  // Queues that do not exist are left alone.
  void Enable(uint16_t queue_index) EXCLUDES(mutex_);
  void DisableAll() EXCLUDES(mutex_);

 private:
  struct Bell {
    int event_fd;
    bool enabled = false;
    std::optional<GuestAddr> bound_at;
  };
  void BindLocked() REQUIRES(mutex_);
  void UnbindLocked() REQUIRES(mutex_);

  DoorbellBinder& binder_;
  Mutex mutex_;
  std::optional<GuestAddr> first_ GUARDED_BY(mutex_);
  std::vector<Bell> bells_ GUARDED_BY(mutex_);
};

}  // namespace skiff::virtio
