#include "devices/bus.h"

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <functional>
#include <thread>
#include <utility>

namespace skiff {
namespace {

BusRange At(uint64_t start, uint64_t length) {
  return BusRange::Make(Position<BusSpace>(start), length).value();
}

// Answers reads with the offset it saw and remembers the last write.
class Probe : public BusDevice {
 public:
  explicit Probe(std::function<void()> on_write = {}) : on_write_(std::move(on_write)) {}
  ~Probe() override { alive_ = false; }

  std::string_view name() const override { return "probe"; }
  void Read(uint64_t offset, std::span<std::byte> data) override {
    for (std::byte& byte : data) byte = static_cast<std::byte>(offset);
  }
  void Write(uint64_t offset, std::span<const std::byte>) override {
    if (on_write_) on_write_();
    EXPECT_TRUE(alive_);
    last_write.store(offset, std::memory_order_relaxed);
  }

  std::atomic<uint64_t> last_write{~uint64_t{0}};

 private:
  std::function<void()> on_write_;
  std::atomic<bool> alive_{true};
};

const std::array<std::byte, 8> kBytes{};

bool WriteTo(const Bus& bus, uint64_t address, size_t size = 1) {
  return bus.Write(address, std::span(kBytes).first(size));
}

TEST(Bus, PassesTheOffsetInsideTheRange) {
  Bus bus;
  ASSERT_TRUE(bus.Attach(At(0x3f8, 8), std::make_shared<Probe>()).ok());
  std::array<std::byte, 1> data{};
  ASSERT_TRUE(bus.Read(0x3fd, data));
  EXPECT_EQ(data[0], std::byte{5});
}

TEST(Bus, RefusesAccessesThatNoDeviceCoversWhole) {
  Bus bus;
  EXPECT_FALSE(WriteTo(bus, 0));
  ASSERT_TRUE(bus.Attach(At(0x100, 4), std::make_shared<Probe>()).ok());
  ASSERT_TRUE(bus.Attach(At(0x104, 4), std::make_shared<Probe>()).ok());
  EXPECT_FALSE(WriteTo(bus, 0xff));
  EXPECT_FALSE(WriteTo(bus, 0xff, 2));
  EXPECT_FALSE(WriteTo(bus, 0x102, 4));  // straddles two devices
  EXPECT_FALSE(WriteTo(bus, 0x107, 2));
  EXPECT_FALSE(WriteTo(bus, 0x108));
  EXPECT_FALSE(WriteTo(bus, ~uint64_t{0}, 8));
  EXPECT_TRUE(WriteTo(bus, 0x104, 4));
}

TEST(Bus, RefusesEmptyAndOverlappingRanges) {
  Bus bus;
  auto device = std::make_shared<Probe>();
  ASSERT_TRUE(bus.Attach(At(0x100, 0x10), device).ok());
  for (const BusRange bad :
       {At(0x100, 0x10), At(0xff, 2), At(0x10f, 1), At(0x104, 1), At(0, 0x1000), At(0x200, 0)}) {
    const auto attached = bus.Attach(bad, device);
    ASSERT_FALSE(attached.ok());
    EXPECT_EQ(attached.error().code(), ErrorCode::kInvalid);
  }
  EXPECT_TRUE(bus.Attach(At(0xff, 1), device).ok());
  EXPECT_TRUE(bus.Attach(At(0x110, 1), device).ok());
}

TEST(Bus, DetachTakesExactlyItsRange) {
  Bus bus;
  auto device = std::make_shared<Probe>();
  ASSERT_TRUE(bus.Attach(At(0x100, 0x10), device).ok());
  bus.Detach(At(0x100, 8));
  bus.Detach(At(0x500, 8));
  EXPECT_TRUE(WriteTo(bus, 0x100));
  bus.Detach(At(0x100, 0x10));
  EXPECT_FALSE(WriteTo(bus, 0x100));
  EXPECT_EQ(device.use_count(), 1);
}

TEST(Bus, ADeviceMayMoveAndEvenDropItselfInsideItsOwnWrite) {
  Bus bus;
  auto device = std::make_shared<Probe>([&bus] { bus.Detach(At(0x100, 4)); });
  ASSERT_TRUE(bus.Attach(At(0x100, 4), device).ok());
  const std::weak_ptr<Probe> watch = device;
  device.reset();  // now only the bus keeps it
  EXPECT_TRUE(WriteTo(bus, 0x102));
  EXPECT_TRUE(watch.expired());
  EXPECT_FALSE(WriteTo(bus, 0x102));
}

TEST(Bus, AccessesRunWhileADeviceMoves) {
  Bus bus;
  auto fixed = std::make_shared<Probe>();
  ASSERT_TRUE(bus.Attach(At(0x1000, 0x10), fixed).ok());
  std::atomic<bool> stop{false};
  std::atomic<uint64_t> hits{0};
  const auto reader = [&] {
    while (!stop.load(std::memory_order_relaxed)) {
      EXPECT_TRUE(WriteTo(bus, 0x1004));
      for (const uint64_t base : {0x2000U, 0x3000U})
        hits.fetch_add(WriteTo(bus, base + 3), std::memory_order_relaxed);
    }
  };
  std::array<std::thread, 3> readers{std::thread(reader), std::thread(reader), std::thread(reader)};
  for (int i = 0; i < 300 || hits.load(std::memory_order_relaxed) < 10; ++i) {
    const BusRange range = At(i % 2 == 0 ? 0x2000 : 0x3000, 0x10);
    // The bus holds the only reference: readers would notice a device that dies too early.
    ASSERT_TRUE(bus.Attach(range, std::make_shared<Probe>()).ok());
    std::this_thread::yield();
    bus.Detach(range);
  }
  stop = true;
  for (std::thread& thread : readers) thread.join();
  EXPECT_EQ(fixed->last_write, 4U);
}

}  // namespace
}  // namespace skiff
