// A virtio-pci function from its driver's side.
#include "devices/virtio/pci/transport.h"

#include <gtest/gtest.h>

#include <memory>

#include "tests/fakes/virtio_pci_rig.h"

namespace skiff::virtio {
namespace {

using fakes::FakeMsiController;
using fakes::GuestPci;
using fakes::kFirstData;
using fakes::PciTransportTest;
using fakes::TestDevice;
using fakes::VirtioPciDriver;

using Type = VirtioPciCapType;
using Delivered = std::vector<uint32_t>;
using Bound = std::vector<uint64_t>;

TEST_F(PciTransportTest, ShowsAModernDevice) {
  EXPECT_EQ(driver_->Config(pci::kVendorId, 4), 0x10421af4u);
  EXPECT_EQ(driver_->Config(pci::kRevisionId, 4), 0x01000001u);
  EXPECT_EQ(driver_->Config(pci::kSubsystemVendorId, 4), 0x00421af4u);
  EXPECT_EQ(driver_->Config(pci::kInterruptPin, 1), 1u);
  Plug(std::make_unique<TestDevice>(DeviceType::kEntropy));
  EXPECT_EQ(driver_->Config(pci::kVendorId, 4), 0x10441af4u);
  EXPECT_EQ(driver_->Config(pci::kRevisionId, 4), 0x00ff0001u);
}

TEST_F(PciTransportTest, StructuresLieApartInTheBar) {
  uint64_t end = 0;
  for (const Type type : {Type::kCommonCfg, Type::kIsrCfg, Type::kDeviceCfg, Type::kNotifyCfg}) {
    const auto structure = driver_->structure(type);
    ASSERT_NE(structure.capability, 0) << int(type);
    EXPECT_EQ(structure.bar, 0);
    EXPECT_GE(structure.offset, end);
    EXPECT_EQ(structure.offset % 4, 0u);
    end = structure.offset + structure.length;
  }
  EXPECT_EQ(driver_->structure(Type::kNotifyCfg).length, 8u);
  EXPECT_NE(driver_->structure(Type::kPciCfg).capability, 0);
  EXPECT_EQ(driver_->Config(driver_->msix() + 2u, 2), 2u);  // three vectors
  EXPECT_GE(driver_->Config(driver_->msix() + 4u, 4), end);
  Plug(std::make_unique<TestDevice>(DeviceType::kEntropy));
  EXPECT_EQ(driver_->structure(Type::kDeviceCfg).capability, 0);
}

TEST_F(PciTransportTest, IntxRisesWithAnAnswerAndFallsWithTheIsr) {
  Start(/*msix=*/false);
  Request();
  EXPECT_FALSE(line());
  EXPECT_TRUE(device_->Serve());
  EXPECT_TRUE(line());
  EXPECT_EQ(driver_->Config(pci::kStatus, 2) & pci::kStatusInterrupt, pci::kStatusInterrupt);
  EXPECT_EQ(driver_->Isr(), kIsrQueueInterrupt);
  EXPECT_FALSE(line());
  EXPECT_EQ(driver_->Isr(), 0u);
  EXPECT_EQ(driver_->Config(pci::kStatus, 1) & pci::kStatusInterrupt, 0u);
  EXPECT_EQ(queue_->TakeUsed()->length, 7u);
}

TEST_F(PciTransportTest, InterruptDisableHoldsThePinButNotTheStatus) {
  Start(/*msix=*/false);
  driver_->SetConfig(pci::kCommand, 2, pci::kCommandMemorySpace | pci::kCommandInterruptDisable);
  Request();
  device_->Serve();
  EXPECT_FALSE(line());
  EXPECT_EQ(driver_->Config(pci::kStatus, 2) & pci::kStatusInterrupt, pci::kStatusInterrupt);
  driver_->EnableMemory();
  EXPECT_TRUE(line());
}

TEST_F(PciTransportTest, MsixDeliversTheQueuesVectorAndNoIntx) {
  Start(/*msix=*/true);
  Request();
  device_->Serve();
  EXPECT_EQ(msi_.TakeDelivered(), Delivered{kFirstData + 1});
  EXPECT_FALSE(line());
  EXPECT_EQ(driver_->Config(pci::kStatus, 2) & pci::kStatusInterrupt, 0u);
  EXPECT_EQ(driver_->Isr(), 0u);
  EXPECT_EQ(msi_.allocated(), 2u);  // queue 1 has no vector, so no route
}

TEST_F(PciTransportTest, EnablingMsixLowersThePin) {
  Start(/*msix=*/false);
  Request();
  device_->Serve();
  EXPECT_TRUE(line());
  driver_->SetConfig(driver_->msix() + 2u, 2, pci::kMsixControlEnable);
  EXPECT_FALSE(line());
}

TEST_F(PciTransportTest, VectorsThatCannotBeReadBackAsNone) {
  Start(/*msix=*/true);
  for (const uint64_t nonsense : {3, 127, 0x8000, 0xfffe}) {
    driver_->SetCommon(16, 2, nonsense);
    EXPECT_EQ(driver_->Common(16, 2), kMsiNoVector);
    driver_->SetCommon(26, 2, nonsense);
    EXPECT_EQ(driver_->Common(26, 2), kMsiNoVector);
  }
  Request();
  device_->Serve();
  device_->session().notifier->ConfigChanged();
  EXPECT_EQ(msi_.TakeDelivered(), Delivered{});
  driver_->SetCommon(22, 2, 2);  // no such queue
  driver_->SetCommon(26, 2, 1);
  EXPECT_EQ(driver_->Common(26, 2), kMsiNoVector);
}

TEST_F(PciTransportTest, ConfigurationChangesReachTheDriverBothWays) {
  Start(/*msix=*/false);
  const uint64_t generation = driver_->Common(21, 1);
  device_->session().notifier->ConfigChanged();
  EXPECT_TRUE(line());
  EXPECT_EQ(driver_->Isr(), kIsrDeviceConfigurationInterrupt);
  EXPECT_NE(driver_->Common(21, 1), generation);
  Start(/*msix=*/true);
  device_->session().notifier->ConfigChanged();
  EXPECT_FALSE(line());
  EXPECT_EQ(msi_.TakeDelivered(), Delivered{kFirstData});
}

TEST_F(PciTransportTest, ABrokenDriverIsToldToReset) {
  Start(/*msix=*/true);
  queue_->SetAvailableIndex(100);
  driver_->Kick(0);
  EXPECT_FALSE(device_->Serve());
  EXPECT_EQ(driver_->Status() & kStatusDeviceNeedsReset, kStatusDeviceNeedsReset);
  EXPECT_EQ(msi_.TakeDelivered(), Delivered{kFirstData});
  Start(/*msix=*/true);
  Request();
  EXPECT_TRUE(device_->Serve());
  EXPECT_EQ(msi_.TakeDelivered(), Delivered{kFirstData + 1});
}

TEST_F(PciTransportTest, DoorbellsFollowQueueBarAndReset) {
  EXPECT_EQ(doorbells_.Addresses(), Bound{});
  Start(/*msix=*/false);
  EXPECT_EQ(doorbells_.Addresses(), Bound{doorbell(0)});
  EXPECT_EQ(driver_->Doorbell(0), doorbell(0));
  EXPECT_EQ(driver_->Doorbell(1), doorbell(1));

  driver_->SetConfig(pci::kBar0, 4, GuestPci::kWindow + 0x100000);
  EXPECT_EQ(doorbells_.Addresses(), Bound{GuestPci::kWindow + 0x100800});
  driver_->SetConfig(pci::kBar0, 4, GuestPci::kEcam);  // refused: reaches nothing
  EXPECT_EQ(doorbells_.Addresses(), Bound{});
  driver_->SetConfig(pci::kBar0, 4, GuestPci::kWindow);
  EXPECT_EQ(doorbells_.Addresses(), Bound{doorbell(0)});
  driver_->SetConfig(pci::kCommand, 2, 0);
  EXPECT_EQ(doorbells_.Addresses(), Bound{});
  driver_->EnableMemory();
  EXPECT_EQ(doorbells_.Addresses(), Bound{doorbell(0)});
  driver_->SetStatus(0);
  EXPECT_EQ(doorbells_.Addresses(), Bound{});
  EXPECT_EQ(doorbells_.misuses(), 0);
}

TEST_F(PciTransportTest, AStoreToADoorbellKicksItsQueueOnly) {
  doorbells_.Refuse();
  Start(/*msix=*/false);
  EXPECT_FALSE(device_->kicked(0));
  driver_->Kick(1);
  EXPECT_FALSE(device_->kicked(0));
  driver_->Kick(0);
  EXPECT_TRUE(device_->kicked(0));
}

TEST_F(PciTransportTest, QueuesThatDoNotExistAreEmpty) {
  for (const uint64_t index : {2, 0x7fff, 0xffff}) {
    driver_->SetCommon(22, 2, index);
    driver_->SetCommon(28, 2, 1);
    driver_->SetCommon(32, 8, ~uint64_t{0});
    EXPECT_EQ(driver_->Common(24, 2), 0u);
    EXPECT_EQ(driver_->Common(28, 2), 0u);
    EXPECT_EQ(driver_->Common(32, 8), 0u);
  }
  EXPECT_EQ(driver_->Common(18, 2), 2u);
  driver_->SetCommon(22, 2, 1);
  EXPECT_EQ(driver_->Common(24, 2), 4u);
  EXPECT_EQ(doorbells_.Addresses(), Bound{});
}

TEST_F(PciTransportTest, QueueAddressesAreWrittenWholeOrInHalves) {
  ASSERT_TRUE(driver_->Negotiate(kFeatureVersion1));
  for (const uint32_t field : {32u, 40u, 48u}) {
    driver_->SetCommon(field, 8, 0x1122334455667788);
    EXPECT_EQ(driver_->Common(field, 4), 0x55667788u);
    driver_->SetCommon(field + 4, 4, 0xaabbccdd);
    driver_->SetCommon(field, 4, 0x00112230);
    EXPECT_EQ(driver_->Common(field, 8), 0xaabbccdd00112230u);
    driver_->SetCommon(field, 2, 0xffff);  // no width of this field
    driver_->SetCommon(field + 2, 4, 0xffffffff);
    EXPECT_EQ(driver_->Common(field, 8), 0xaabbccdd00112230u);
  }
}

TEST_F(PciTransportTest, DeviceConfigurationIsReadAndWritten) {
  const uint64_t at = driver_->Address(Type::kDeviceCfg);
  EXPECT_EQ(guest_.Load(at, 1), 1u);
  EXPECT_EQ(guest_.Load(at + 2, 2), 0x0403u);
  EXPECT_EQ(guest_.Load(at, 8), 0x04030201u);
  guest_.Store(at + 4, 4, 0xcafebabe);
  EXPECT_EQ(guest_.Load(at + 4, 4), 0xcafebabeu);
  EXPECT_EQ(guest_.Load(at + 8, 4), 0u);
}

TEST_F(PciTransportTest, ConfigurationSpaceReachesTheBarToo) {
  const uint32_t cap = driver_->structure(Type::kPciCfg).capability;
  driver_->SetConfig(pci::kCommand, 2, 0);  // the BAR decodes nothing
  const auto select = [&](uint64_t bar, uint64_t offset, uint64_t length) {
    driver_->SetConfig(cap + 4, 1, bar);
    driver_->SetConfig(cap + 8, 4, offset);
    driver_->SetConfig(cap + 12, 4, length);
  };
  select(0, 18, 2);
  EXPECT_EQ(driver_->Config(cap + 16, 2), 2u);  // num_queues
  select(0, 20, 1);
  driver_->SetConfig(cap + 16, 1, kStatusAcknowledge | kStatusDriver);
  EXPECT_EQ(driver_->Config(cap + 16, 1), uint64_t{kStatusAcknowledge | kStatusDriver});
  driver_->EnableMemory();
  EXPECT_EQ(driver_->Status(), uint64_t{kStatusAcknowledge | kStatusDriver});

  // What selects nothing has no effect.
  for (const auto& [bar, offset, length] :
       {std::array<uint64_t, 3>{1, 20, 1}, {0, 20, 0}, {0, 20, 8}, {0, 19, 2}, {0, 0x2000, 4}}) {
    select(bar, offset, length);
    driver_->SetConfig(cap + 16, 4, 0);
    EXPECT_EQ(driver_->Status(), uint64_t{kStatusAcknowledge | kStatusDriver});
  }
  EXPECT_EQ(driver_->Config(cap + 2, 2), 0x0514u);  // length and type are not the driver's
}

TEST_F(PciTransportTest, ResetForgetsEverythingOfTheLastDriver) {
  const auto snapshot = [this] {
    std::vector<uint64_t> fields;
    for (uint32_t i = 0; i < sizeof(VirtioPciCommonCfg); i += 4)
      fields.push_back(driver_->Common(i, 4));
    fields[5] &= ~uint64_t{0xff00};  // config_generation goes on
    return fields;
  };
  const auto fresh = snapshot();
  for (int i = 0; i < 50; ++i) {
    Start(/*msix=*/i % 2 == 0);
    driver_->SetCommon(0, 4, 1);
    driver_->SetCommon(22, 2, 1);
    Request();
    device_->Serve();
    device_->session().notifier->ConfigChanged();
    EXPECT_EQ(queue_->TakeUsed()->length, 7u);
    driver_->SetStatus(0);
    ASSERT_FALSE(device_->running());
    ASSERT_EQ(snapshot(), fresh);
    ASSERT_FALSE(line());
    ASSERT_EQ(driver_->Isr(), 0u);
    driver_->SetConfig(driver_->msix() + 2u, 2, 0);
  }
  EXPECT_LE(msi_.allocated(), 3u);
  EXPECT_EQ(doorbells_.misuses(), 0);
}

TEST_F(PciTransportTest, ResettingTheMachineResetsTheFunctionToo) {
  Start(/*msix=*/true);
  guest_.root().Reset();
  EXPECT_FALSE(device_->running());
  EXPECT_EQ(doorbells_.Addresses(), Bound{});
  EXPECT_EQ(driver_->Config(pci::kCommand, 2), 0u);
  EXPECT_EQ(driver_->Config(driver_->msix() + 2u, 2), 2u);
  EXPECT_EQ(guest_.Load(GuestPci::kWindow, 4), 0xffffffffu);
  driver_->EnableMemory();
  EXPECT_EQ(driver_->Status(), 0u);
  EXPECT_EQ(guest_.Load(driver_->bar() + 0x101c, 4), 1u);  // vector 1 is masked
  Start(/*msix=*/true);
}

TEST_F(PciTransportTest, NoRouteLeftIsToldToTheDriver) {
  const PciHost host{ram_.memory(), one_msi_, doorbells_};
  ASSERT_TRUE(guest_.root()
                  .Add([&](const pci::Slot& slot) {
                    return MakePciFunction(slot, std::make_unique<TestDevice>(), host);
                  })
                  .ok());
  VirtioPciDriver driver(guest_, static_cast<uint8_t>(slot_ + 1));
  driver.EnableMemory();
  driver.SetCommon(16, 2, 0);
  EXPECT_EQ(driver.Common(16, 2), 0u);
  driver.SetCommon(22, 2, 0);
  driver.SetCommon(26, 2, 1);
  EXPECT_EQ(driver.Common(26, 2), kMsiNoVector);
  driver.SetCommon(26, 2, 0);  // sharing the vector that is there
  EXPECT_EQ(driver.Common(26, 2), 0u);
}

TEST_F(PciTransportTest, TooManyQueuesAreRefused) {
  auto device = std::make_unique<TestDevice>();
  device->sizes.assign(128, 8);
  const PciHost host{ram_.memory(), msi_, doorbells_};
  const auto added = guest_.root().Add(
      [&](const pci::Slot& slot) { return MakePciFunction(slot, std::move(device), host); });
  EXPECT_EQ(added.error().code(), ErrorCode::kUnsupported);
}

}  // namespace
}  // namespace skiff::virtio
