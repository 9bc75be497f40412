#include "devices/pci/intx.h"

namespace skiff::pci {

class SharedLine::Pin final : public IrqLine {
 public:
  explicit Pin(SharedLine& shared) : shared_(shared) {}
  ~Pin() override { Lower(); }
  Pin(const Pin&) = delete;
  Pin& operator=(const Pin&) = delete;

  void Raise() override {
    MutexLock lock(shared_.mutex_);
    if (raised_) return;
    raised_ = true;
    if (shared_.raised_++ == 0) shared_.line_.Raise();
  }

  void Lower() override {
    MutexLock lock(shared_.mutex_);
    if (!raised_) return;
    raised_ = false;
    if (--shared_.raised_ == 0) shared_.line_.Lower();
  }

 private:
  SharedLine& shared_;
  bool raised_ GUARDED_BY(shared_.mutex_) = false;
};

std::unique_ptr<IrqLine> SharedLine::MakePin() { return std::make_unique<Pin>(*this); }

}  // namespace skiff::pci
