#pragma once

// A test device, and its PCI function plugged into a machine with a driver.

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "base/event_loop.h"
#include "base/log.h"
#include "base/mutex.h"
#include "devices/virtio/pci/transport.h"
#include "devices/virtio/worker.h"
#include "tests/fakes/driver_queue.h"
#include "tests/fakes/virtio_pci_driver.h"

namespace skiff::fakes {

inline constexpr uint64_t kOwnFeature = virtio::FeatureBit(5);
inline constexpr uint32_t kFirstData = 0x50;  // of the MSI-X vectors

// Answers each request with 7 bytes, when the test says so or on a thread of its own.
class TestDevice final : public virtio::Device {
 public:
  explicit TestDevice(virtio::DeviceType type = virtio::DeviceType::kBlock, bool threaded = false)
      : type_(type), threaded_(threaded) {}
  ~TestDevice() override { EXPECT_FALSE(running()); }
  TestDevice(const TestDevice&) = delete;
  TestDevice& operator=(const TestDevice&) = delete;

  virtio::DeviceType type() const override { return type_; }
  uint64_t offered_features() const override { return kOwnFeature; }
  std::span<const uint16_t> max_queue_sizes() const override { return sizes; }
  void ReadConfig(uint32_t offset, std::span<std::byte> data) const override {
    MutexLock lock(mutex_);
    virtio::ReadConfigBytes(config_, offset, data);
  }
  void WriteConfig(uint32_t offset, std::span<const std::byte> data) override {
    MutexLock lock(mutex_);
    if (offset + data.size() > config_.size()) return;
    std::copy(data.begin(), data.end(), &config_[offset]);
  }

  Result<void> Start(virtio::Session session) override {
    session_.emplace(std::move(session));
    if (!threaded_) return {};
    auto loop = TRY(EventLoop::Make());
    for (virtio::SessionQueue& queue : session_->queues) {
      TRY(loop->Watch(queue.kick->fd(), [this, raw = loop.get(), &queue] {
        if (!Serve(queue)) raw->Unwatch(queue.kick->fd());
      }));
    }
    worker_ = TRY(virtio::Worker::Start("test", std::move(loop)));
    return {};
  }
  void Stop() override {
    worker_.reset();
    session_.reset();
  }

  bool running() const { return session_.has_value(); }
  virtio::Session& session() { return *session_; }
  bool kicked(size_t queue) { return session_->queues[queue].kick->Drain(); }
  bool Serve() { return Serve(session_->queues[0]); }

  std::vector<uint16_t> sizes = {8, 4};

 private:
  bool Serve(const virtio::SessionQueue& queue) {
    const bool sound = virtio::ServeKick(
        queue, *session_->notifier, log_,
        [](virtio::DescriptorChain chain) { std::move(chain.answer).Complete(7); });
    virtio::PublishAnswers(queue, *session_->notifier);
    return sound;
  }

  const virtio::DeviceType type_;
  const bool threaded_;
  LimitedLog log_;
  mutable Mutex mutex_;
  std::array<std::byte, 8> config_ GUARDED_BY(mutex_) = {std::byte{1}, std::byte{2}, std::byte{3},
                                                         std::byte{4}};
  std::optional<virtio::Session> session_;
  std::unique_ptr<virtio::Worker> worker_;
};

// 00:01.0 is the device; Plug() adds more and makes the newest the one that is driven.
class PciTransportTest : public testing::Test {
 protected:
  void SetUp() override { Plug(std::make_unique<TestDevice>()); }

  void Plug(std::unique_ptr<TestDevice> device) {
    device_ = device.get();
    const virtio::PciHost host{ram_.memory(), msi_, doorbells_};
    ASSERT_TRUE(guest_.root()
                    .Add([&](const pci::Slot& slot) {
                      slot_ = slot.address.device;
                      return virtio::MakePciFunction(slot, std::move(device), host);
                    })
                    .ok());
    driver_.emplace(guest_, slot_);
    driver_->EnableMemory();
  }
  // The driver's whole initialization with queue 0 at vector 1 and the configuration at 0.
  void Start(bool msix) {
    ASSERT_TRUE(driver_->Negotiate(driver_->OfferedFeatures()));
    queue_.emplace(ram_, 8, driver_->OfferedFeatures());
    if (msix) {
      driver_->EnableMsix(3, kFirstData);
      driver_->SetCommon(16, 2, 0);
      ASSERT_EQ(driver_->Common(16, 2), 0u);
    }
    ASSERT_TRUE(driver_->SetUpQueue(0, queue_->layout(), msix ? 1 : virtio::kMsiNoVector));
    driver_->AddStatus(virtio::kStatusDriverOk);
    ASSERT_TRUE(device_->running());
  }
  void Request() {
    queue_->Add({{buffer_, 16, true}});
    driver_->Kick(0);
  }
  bool line() { return guest_.wire(pci::WireOfDevice(slot_)).high(); }
  uint64_t doorbell(uint64_t index) { return driver_->bar() + 0x800 + 4 * index; }

  GuestRam ram_;
  FakeMsiController msi_;
  FakeMsiController one_msi_{1};
  FakeDoorbellBinder doorbells_;
  GuestPci guest_;
  TestDevice* device_ = nullptr;
  uint8_t slot_ = 0;
  std::optional<VirtioPciDriver> driver_;
  std::optional<DriverQueue> queue_;
  GuestAddr buffer_ = ram_.Allocate(16);
};

}  // namespace skiff::fakes
