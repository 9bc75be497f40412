#include "devices/pci/msix.h"

#include <gtest/gtest.h>

#include <thread>

#include "devices/pci/bytes.h"
#include "devices/pci/config_registers.h"
#include "tests/fakes/fake_irq.h"

namespace skiff::pci {
namespace {

using fakes::FakeMsiController;

using Delivered = std::vector<uint32_t>;

constexpr uint64_t kLocalApic = 0xfee01000;

// A driver of the table.
class MsixTest : public testing::Test {
 protected:
  void Set(uint64_t offset, uint32_t value) {
    const auto bytes = std::bit_cast<std::array<std::byte, 4>>(Le32(value));
    msix_.Write(offset, bytes);
  }
  uint64_t Get(uint64_t offset, size_t size) {
    std::array<std::byte, 8> bytes{};
    msix_.Read(offset, std::span(bytes).first(size));
    return ToValue(bytes);
  }
  void SetMask(uint16_t vector, bool masked) { Set(16u * vector + 12, masked ? 1 : 0); }
  void SetMessage(uint16_t vector, uint32_t data) {
    Set(16u * vector, static_cast<uint32_t>(kLocalApic));
    Set(16u * vector + 4, 0);
    Set(16u * vector + 8, data);
  }
  void SetUp(uint16_t vector, uint32_t data) {
    ASSERT_TRUE(msix_.Reserve(vector).ok());
    SetMessage(vector, data);
    SetMask(vector, false);
  }
  uint64_t Pending() { return Get(Msix::kPendingOffset, 8); }

  FakeMsiController controller_;
  Msix msix_{3, controller_};
};

TEST_F(MsixTest, DeliversTheMessageOfTheSignalledVector) {
  msix_.WriteControl(kMsixControlEnable);
  SetUp(0, 0x40);
  SetUp(2, 0x42);
  msix_.Signal(2);
  msix_.Signal(0);
  EXPECT_EQ(controller_.TakeDelivered(), (Delivered{0x42, 0x40}));
  EXPECT_EQ(Pending(), 0u);
}

TEST_F(MsixTest, VectorsStartMaskedAndAMaskedSignalWaitsForTheUnmask) {
  msix_.WriteControl(kMsixControlEnable);
  EXPECT_EQ(Get(16 + 12, 4), 1u);
  ASSERT_TRUE(msix_.Reserve(1).ok());
  SetMessage(1, 0x41);
  msix_.Signal(1);
  msix_.Signal(1);
  EXPECT_EQ(controller_.TakeDelivered(), Delivered{});
  EXPECT_EQ(Pending(), 0b010u);
  SetMask(1, false);
  EXPECT_EQ(controller_.TakeDelivered(), Delivered{0x41});  // two signals, one interrupt
  EXPECT_EQ(Pending(), 0u);
}

TEST_F(MsixTest, TheFunctionMaskHoldsAllVectorsBack) {
  msix_.WriteControl(kMsixControlEnable | kMsixControlFunctionMask);
  SetUp(0, 0x40);
  SetUp(1, 0x41);
  msix_.Signal(0);
  msix_.Signal(1);
  EXPECT_EQ(Pending(), 0b011u);
  SetMask(1, true);
  msix_.WriteControl(kMsixControlEnable);
  EXPECT_EQ(controller_.TakeDelivered(), Delivered{0x40});
  EXPECT_EQ(Pending(), 0b010u);  // its own mask still holds vector 1
}

TEST_F(MsixTest, DisabledNothingIsDeliveredOrRemembered) {
  SetUp(0, 0x40);
  msix_.Signal(0);
  EXPECT_EQ(Pending(), 0u);
  msix_.WriteControl(kMsixControlEnable | kMsixControlFunctionMask);
  msix_.Signal(0);
  msix_.WriteControl(0);
  msix_.WriteControl(kMsixControlEnable);
  EXPECT_EQ(controller_.TakeDelivered(), Delivered{});
}

TEST_F(MsixTest, ANewMessageIsUsedFromTheUnmaskOn) {
  msix_.WriteControl(kMsixControlEnable);
  SetUp(0, 0x40);
  SetMask(0, true);
  SetMessage(0, 0x77);
  SetMask(0, false);
  msix_.Signal(0);
  EXPECT_EQ(controller_.TakeDelivered(), Delivered{0x77});
}

TEST_F(MsixTest, RoutesChangeOnlyWithTheMessage) {
  msix_.WriteControl(kMsixControlEnable);
  SetUp(0, 0x40);
  EXPECT_EQ(controller_.route_changes(), 1);
  for (int i = 0; i < 5; ++i) {
    SetMask(0, true);
    SetMessage(0, 0x40);
    SetMask(0, false);
  }
  msix_.WriteControl(kMsixControlEnable | kMsixControlFunctionMask);
  msix_.WriteControl(kMsixControlEnable);
  EXPECT_EQ(controller_.route_changes(), 1);
}

TEST_F(MsixTest, VectorsNobodyReservedTakeNoRoute) {
  msix_.WriteControl(kMsixControlEnable);
  SetMessage(1, 0x41);
  SetMask(1, false);
  msix_.Signal(1);
  EXPECT_EQ(controller_.allocated(), 0u);
  ASSERT_TRUE(msix_.Reserve(1).ok());
  ASSERT_TRUE(msix_.Reserve(1).ok());
  EXPECT_EQ(controller_.allocated(), 1u);
  msix_.Signal(1);
  EXPECT_EQ(controller_.TakeDelivered(), Delivered{0x41});
}

TEST_F(MsixTest, ReserveTellsWhatCannotBe) {
  EXPECT_EQ(msix_.Reserve(3).error().code(), ErrorCode::kOutOfRange);
  EXPECT_EQ(msix_.Reserve(0xffff).error().code(), ErrorCode::kOutOfRange);
  FakeMsiController small(1);
  Msix crowded(2, small);
  EXPECT_TRUE(crowded.Reserve(0).ok());
  EXPECT_EQ(crowded.Reserve(1).error().code(), ErrorCode::kNoSpace);
}

TEST_F(MsixTest, AMessageTheControllerRefusesIsTriedAgain) {
  msix_.WriteControl(kMsixControlEnable);
  controller_.RefuseMessages(true);
  SetUp(0, 0x40);
  msix_.Signal(0);
  EXPECT_EQ(controller_.TakeDelivered(), Delivered{});
  controller_.RefuseMessages(false);
  SetMask(0, true);
  SetMask(0, false);
  msix_.Signal(0);
  EXPECT_EQ(controller_.TakeDelivered(), Delivered{0x40});
}

TEST_F(MsixTest, ResetMasksAndForgetsButKeepsRoutes) {
  msix_.WriteControl(kMsixControlEnable);
  SetUp(0, 0x40);
  ASSERT_TRUE(msix_.Reserve(1).ok());
  msix_.Signal(1);
  msix_.Reset();
  EXPECT_FALSE(msix_.enabled());
  EXPECT_EQ(Pending(), 0u);
  EXPECT_EQ(Get(0, 8), 0u);
  EXPECT_EQ(Get(8, 8), uint64_t{1} << 32);
  EXPECT_EQ(controller_.allocated(), 2u);
  msix_.WriteControl(kMsixControlEnable);
  msix_.Signal(0);
  EXPECT_EQ(controller_.TakeDelivered(), Delivered{});
}

TEST_F(MsixTest, QwordsAreTwoDwordsAndOtherWidthsAreDropped) {
  const auto message = std::bit_cast<std::array<std::byte, 8>>(Le64(0x1'fee00000));
  msix_.Write(16, message);
  EXPECT_EQ(Get(16, 4), 0xfee00000u);
  EXPECT_EQ(Get(20, 4), 1u);
  EXPECT_EQ(Get(22, 2), 0u);
  msix_.Write(16, std::span(message).first(2));
  msix_.Write(18, std::span(message).first(4));
  EXPECT_EQ(Get(16, 8), 0x1'fee00000u);
  EXPECT_EQ(Get(48, 4), 0xffffffffu);  // behind the table
}

TEST_F(MsixTest, PendingBitsAreReadOnly) {
  msix_.WriteControl(kMsixControlEnable);
  ASSERT_TRUE(msix_.Reserve(0).ok());
  Set(Msix::kPendingOffset, 0xffffffff);
  EXPECT_EQ(Pending(), 0u);
  SetMask(0, false);
  EXPECT_EQ(controller_.TakeDelivered(), Delivered{});
}

// Masking and unmasking while a device signals: nothing is lost, whatever the order.
TEST_F(MsixTest, NoSignalIsLostBetweenMaskAndUnmask) {
  msix_.WriteControl(kMsixControlEnable);
  SetUp(0, 0x40);
  constexpr int kRounds = 20000;
  std::thread device([this] {
    for (int i = 0; i < kRounds; ++i) msix_.Signal(0);
  });
  for (int i = 0; i < kRounds; ++i) SetMask(0, i % 2 == 0);
  device.join();
  controller_.TakeDelivered();
  SetMask(0, true);
  msix_.Signal(0);
  EXPECT_EQ(controller_.TakeDelivered(), Delivered{});
  SetMask(0, false);
  EXPECT_EQ(controller_.TakeDelivered(), Delivered{0x40});
}

}  // namespace
}  // namespace skiff::pci
