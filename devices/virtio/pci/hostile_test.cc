// Guests that do what no driver would, and devices that work meanwhile.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <random>
#include <thread>

#include "tests/fakes/virtio_pci_rig.h"

namespace skiff::virtio {
namespace {

using fakes::GuestPci;
using fakes::GuestRam;
using fakes::TestDevice;

using Clock = std::chrono::steady_clock;
constexpr std::array<size_t, 4> kSizes = {1, 2, 4, 8};

class HostileGuest : public fakes::PciTransportTest {
 protected:
  void SetUp() override {
    Plug(std::make_unique<TestDevice>(DeviceType::kBlock, /*threaded=*/true));
  }

  // The answer to a new request; false if none comes.
  bool Works() {
    Start(/*msix=*/true);
    if (HasFatalFailure()) return false;
    msi_.TakeDelivered();
    Request();
    const auto deadline = Clock::now() + std::chrono::seconds(20);
    while (Clock::now() < deadline) {
      if (const auto used = queue_->TakeUsed()) return used->length == 7;
      std::this_thread::yield();
    }
    return false;
  }

  // One access that means nothing, biased towards what might mean something.
  void Nonsense(std::mt19937& random) {
    const size_t size = kSizes[random() % kSizes.size()];
    uint64_t address = GuestPci::ConfigAddress(slot_, static_cast<uint32_t>(random() % 0x110));
    if (random() % 4 != 0) {
      static constexpr uint64_t kPlaces[] = {0, 0x38, 0x40, 0x100, 0x7f8, 0x800, 0x1000, 0x1800};
      address = GuestPci::kWindow + kPlaces[random() % std::size(kPlaces)] + random() % 0x40;
    }
    static constexpr uint64_t kValues[] = {0,
                                           1,
                                           2,
                                           3,
                                           4,
                                           7,
                                           0xb,
                                           0xf,
                                           0x80,
                                           0xffff,
                                           0xc000,
                                           GuestPci::kWindow,
                                           GuestRam::kStart,
                                           ~uint64_t{0}};
    const uint64_t value = random() % 4 == 0 ? random() : kValues[random() % std::size(kValues)];
    if (random() % 3 == 0) {
      guest_.Load(address, size);
    } else {
      guest_.Store(address, size, value);
    }
  }
};

TEST_F(HostileGuest, EveryOffsetInEveryWidth) {
  for (const size_t size : kSizes) {
    for (uint64_t offset = 0; offset + size <= BarLayout::kBytes; ++offset) {
      guest_.Load(GuestPci::kWindow + offset, size);
      guest_.Store(GuestPci::kWindow + offset, size, 0xa5a5a5a5a5a5a5a5);
    }
    for (uint32_t offset = 0; offset < pci::kFunctionConfigBytes; ++offset) {
      driver_->Config(offset, size);
      driver_->SetConfig(offset, size, 0x5a5a5a5a5a5a5a5a);
    }
  }
  guest_.root().Reset();
  driver_->EnableMemory();
  EXPECT_TRUE(Works());
}

TEST_F(HostileGuest, NonsenseForSomeSeconds) {
  const unsigned seed = std::random_device()();
  RecordProperty("seed", static_cast<int>(seed));
  SCOPED_TRACE(seed);
  std::mt19937 random(seed);
  const auto end = Clock::now() + std::chrono::seconds(4);
  while (Clock::now() < end) {
    driver_->EnableMemory();
    if (random() % 8 == 0) Start(/*msix=*/random() % 2 == 0);
    for (int i = 0; i < 2000; ++i) Nonsense(random);
    guest_.root().Reset();
    ASSERT_EQ(doorbells_.misuses(), 0);
    ASSERT_EQ(doorbells_.Addresses().size(), 0u);
    ASSERT_LE(msi_.allocated(), 3u);
    ASSERT_FALSE(line());
  }
  driver_->EnableMemory();
  EXPECT_TRUE(Works());
}

TEST_F(HostileGuest, NonsenseFromThreeCpusAtOnce) {
  std::vector<std::thread> cpus;
  const auto end = Clock::now() + std::chrono::seconds(3);
  for (unsigned seed = 1; seed <= 3; ++seed) {
    cpus.emplace_back([this, seed, end] {
      std::mt19937 random(seed);
      while (Clock::now() < end) {
        for (int i = 0; i < 500; ++i) Nonsense(random);
        guest_.SetConfig(slot_, pci::kBar0, 4, GuestPci::kWindow);
        guest_.SetConfig(slot_, pci::kCommand, 2, pci::kCommandMemorySpace);
      }
    });
  }
  for (auto& cpu : cpus) cpu.join();
  guest_.root().Reset();
  EXPECT_EQ(doorbells_.misuses(), 0);
  driver_->EnableMemory();
  EXPECT_TRUE(Works());
}

// The device's thread notifies while the guest masks, resets and moves the BAR.
TEST_F(HostileGuest, ResetWhileTheDeviceAnswers) {
  for (int i = 0; i < 200; ++i) {
    Start(/*msix=*/i % 3 != 0);
    ASSERT_FALSE(HasFatalFailure());
    for (int n = 0; n < 4; ++n) Request();
    driver_->SetConfig(driver_->msix() + 2u, 2, pci::kMsixControlFunctionMask);
    driver_->SetConfig(pci::kBar0, 4, GuestPci::kWindow + 0x10000u * (i % 2));
    driver_->SetStatus(0);
    ASSERT_EQ(driver_->Status(), 0u);
    ASSERT_FALSE(device_->running());
    ASSERT_FALSE(line());
  }
  EXPECT_TRUE(Works());
}

TEST_F(HostileGuest, TwoFunctionsCannotShareAPlace) {
  const uint8_t first = slot_;
  Plug(std::make_unique<TestDevice>());
  Start(/*msix=*/false);
  ASSERT_EQ(doorbells_.Addresses().size(), 1u);
  guest_.SetConfig(slot_, pci::kBar0, 4, GuestPci::kWindow);  // the first one's
  EXPECT_EQ(doorbells_.Addresses().size(), 0u);
  guest_.SetConfig(first, pci::kCommand, 2, 0);
  guest_.SetConfig(slot_, pci::kCommand, 2, pci::kCommandMemorySpace);
  EXPECT_EQ(doorbells_.Addresses(), std::vector<uint64_t>{GuestPci::kWindow + 0x800});
  EXPECT_TRUE(device_->running());
}

}  // namespace
}  // namespace skiff::virtio
