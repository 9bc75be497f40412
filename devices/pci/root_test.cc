// The bus from the guest's side: enumeration, sizing and moving BARs, the two ways in.
#include <gtest/gtest.h>

#include <memory>
#include <random>
#include <string>

#include "devices/pci/config_space.h"
#include "devices/pci/function.h"
#include "tests/fakes/guest_pci.h"

namespace skiff::pci {
namespace {

using fakes::FakeIrqLine;
using fakes::GuestPci;

constexpr uint64_t kBarBytes = 0x2000;

class Scratch final : public BusDevice {
 public:
  std::string_view name() const override { return "scratch"; }
  void Read(uint64_t offset, std::span<std::byte> data) override {
    for (auto& byte : data) byte = std::byte(offset++ & 0xff);
  }
  void Write(uint64_t, std::span<const std::byte>) override { ++writes; }
  int writes = 0;
};

// A function with one BAR and nothing else.
class TestFunction final : public Function {
 public:
  TestFunction(const Slot& slot, GuestAddr at, BarKind kind)
      : config_({.vendor = 0x1234, .device = 0x5678, .class_code = 0xff0000}),
        bar_({.index = 0, .kind = kind, .size = kBarBytes}, at, config_, slot.mmio,
             std::make_shared<Scratch>()) {
    config_.SetInterruptPin(kPinIntA, slot.interrupt_line);
    const std::array<std::byte, 6> body{};
    config_.AddCapability(CapabilityId::kVendorSpecific, body, {});
  }

  std::string_view name() const override { return "test"; }
  void ReadConfig(uint32_t offset, std::span<std::byte> data) override {
    config_.Read(offset, data);
  }
  void WriteConfig(uint32_t offset, std::span<const std::byte> data) override {
    config_.Write(offset, data);
    bar_.Update();
  }
  void Reset() override {
    config_.Reset();
    bar_.Update();
  }

 private:
  ConfigSpace config_;
  Bar bar_;
};

Root::Maker Make(BarKind kind) {
  return [kind](const Slot& slot) -> Result<std::unique_ptr<Function>> {
    const GuestAddr at = TRY(slot.allocate_mmio(kBarBytes));
    return std::unique_ptr<Function>(std::make_unique<TestFunction>(slot, at, kind));
  };
}

class PciBus : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(guest_.attached());
    ASSERT_TRUE(guest_.root().Add(Make(BarKind::kMemory32)).ok());
    ASSERT_TRUE(guest_.root().Add(Make(BarKind::kMemory64)).ok());
  }
  void Enable(uint8_t device, bool memory) {
    guest_.SetConfig(device, kCommand, 2, memory ? kCommandMemorySpace : 0);
  }
  // Whether the BAR answers at `address`.
  bool Answers(uint64_t address) { return guest_.Load(address + 4, 4) == 0x07060504; }

  GuestPci guest_;
  static constexpr uint64_t kFirst = GuestPci::kWindow;
  static constexpr uint64_t kSecond = GuestPci::kWindow + kBarBytes;
  static constexpr uint64_t kElsewhere = GuestPci::kWindow + 0x100000;
};

TEST_F(PciBus, ScanFindsTheBridgeAndTheFunctionsAndNothingElse) {
  EXPECT_EQ(guest_.Config(0, kVendorId, 4), 0x00081b36u);
  EXPECT_EQ(guest_.Config(0, kRevisionId, 4), 0x06000000u);
  EXPECT_EQ(guest_.Config(1, kVendorId, 4), 0x56781234u);
  EXPECT_EQ(guest_.Config(2, kHeaderType, 1), 0u);  // single-function, type 0
  EXPECT_EQ(guest_.Config(3, kVendorId, 4), 0xffffffffu);
  EXPECT_EQ(guest_.Load(GuestPci::kEcam + (1 << 15) + (1 << 12), 2), 0xffffu);  // 00:01.1
  EXPECT_EQ(guest_.Config(1, kInterruptPin, 1), kPinIntA);
  EXPECT_EQ(guest_.Config(1, kInterruptLine, 1), GuestPci::kFirstLineNumber + 1u);
  EXPECT_EQ(guest_.Config(2, kInterruptLine, 1), GuestPci::kFirstLineNumber + 2u);
}

TEST_F(PciBus, ExtendedConfigurationSpaceIsNotThere) {
  EXPECT_EQ(guest_.Config(1, 0x100, 4), 0xffffffffu);
  EXPECT_EQ(guest_.Config(1, 0xffc, 4), 0xffffffffu);
  EXPECT_EQ(guest_.Config(1, 0xfc, 4), 0u);
  EXPECT_EQ(guest_.Config(1, 0xfe, 4), 0xffff0000u);
  guest_.SetConfig(1, 0xffc, 4, 0x12345678);
  EXPECT_EQ(guest_.Config(1, 0xfff, 2), 0xffffu);  // into the next function
}

TEST_F(PciBus, BothWaysInSeeTheSameInEveryWidth) {
  for (uint8_t device = 0; device < 4; ++device) {
    for (const size_t size : {1, 2, 4}) {
      for (uint32_t offset = 0; offset < 0x100; offset += static_cast<uint32_t>(size)) {
        ASSERT_EQ(guest_.Config(device, offset, size), guest_.PortConfig(device, offset, size))
            << "device " << int{device} << " offset " << offset << " size " << size;
      }
    }
  }
  guest_.SetPortConfig(1, kInterruptLine, 1, 0x5a);
  EXPECT_EQ(guest_.Config(1, kInterruptLine, 1), 0x5au);
  guest_.SetConfig(1, kBar0 + 2, 2, 0xc012);
  EXPECT_EQ(guest_.PortConfig(1, kBar0, 4), 0xc0120000u);
  guest_.SetPortConfig(1, kBar0 + 3, 1, 0xc1);
  EXPECT_EQ(guest_.Config(1, kBar0, 4), 0xc1120000u);
}

TEST_F(PciBus, TheAddressPortIsADwordAndNeedsItsEnableBit) {
  guest_.Out(0xcf8, 4, 0xffffffff);
  EXPECT_EQ(guest_.In(0xcf8, 4), 0x80fffffcu);
  guest_.Out(0xcf8, 4, 0x80000800);
  guest_.Out(0xcfb, 1, 0x01);  // Linux probes with this; it is no access to the register
  guest_.Out(0xcf9, 1, 0x06);
  EXPECT_EQ(guest_.In(0xcf8, 4), 0x80000800u);
  EXPECT_EQ(guest_.In(0xcf8, 2), 0xffffu);
  EXPECT_EQ(guest_.In(0xcfc, 4), 0x56781234u);
  EXPECT_EQ(guest_.In(0xcfa, 4), 0xffffffffu);
  guest_.Out(0xcf8, 4, 0x00000800);
  EXPECT_EQ(guest_.In(0xcfc, 4), 0xffffffffu);
  guest_.Out(0xcf8, 4, 0x80010800);  // bus 1
  EXPECT_EQ(guest_.In(0xcfc, 4), 0xffffffffu);
}

TEST_F(PciBus, ReadOnlyRegistersStay) {
  for (uint32_t offset = 0; offset < 0x100; offset += 4) {
    if (offset == kBar0) continue;
    guest_.SetConfig(1, offset, 4, 0xffffffff);
  }
  EXPECT_EQ(guest_.Config(1, kVendorId, 4), 0x56781234u);
  EXPECT_EQ(guest_.Config(1, kCommand, 2),
            uint64_t{kCommandMemorySpace | kCommandBusMaster | kCommandInterruptDisable});
  EXPECT_EQ(guest_.Config(1, kStatus, 2), uint64_t{kStatusCapabilitiesList});
  EXPECT_EQ(guest_.Config(1, kRevisionId, 4), 0xff000000u);
  EXPECT_EQ(guest_.Config(1, kBar0 + 4, 4), 0u);  // no such BAR
  EXPECT_EQ(guest_.Config(1, kExpansionRom, 4), 0u);
  EXPECT_EQ(guest_.Config(1, kInterruptLine, 2), 0x01ffu);
}

TEST_F(PciBus, SizingGivesTheSizeAndMovesNothing) {
  EXPECT_EQ(guest_.Config(1, kBar0, 4), kFirst);
  guest_.SetConfig(1, kBar0, 4, 0xffffffff);
  EXPECT_EQ(guest_.Config(1, kBar0, 4), 0xffffe000u);
  guest_.SetConfig(1, kBar0, 4, kFirst);

  EXPECT_EQ(guest_.Config(2, kBar0, 4), kSecond | 4);
  guest_.SetConfig(2, kBar0, 4, 0xffffffff);
  guest_.SetConfig(2, kBar0 + 4, 4, 0xffffffff);
  EXPECT_EQ(guest_.Config(2, kBar0, 4), 0xffffe004u);
  EXPECT_EQ(guest_.Config(2, kBar0 + 4, 4), 0xffffffffu);
  guest_.SetConfig(2, kBar0, 4, kSecond);
  guest_.SetConfig(2, kBar0 + 4, 4, 0);
  Enable(1, true);
  Enable(2, true);
  EXPECT_TRUE(Answers(kFirst));
  EXPECT_TRUE(Answers(kSecond));
}

TEST_F(PciBus, SizingWithDecodingOnComesBack) {
  Enable(1, true);
  guest_.SetConfig(1, kBar0, 4, 0xffffffff);
  EXPECT_FALSE(Answers(kFirst));
  guest_.SetConfig(1, kBar0, 4, kFirst);
  EXPECT_TRUE(Answers(kFirst));
}

TEST_F(PciBus, MemorySpaceEnableSwitchesTheBar) {
  EXPECT_FALSE(Answers(kFirst));
  Enable(1, true);
  EXPECT_TRUE(Answers(kFirst));
  EXPECT_FALSE(guest_.Load(kFirst + kBarBytes - 2, 4) == 0x0100fffe);  // over its end
  Enable(1, false);
  EXPECT_FALSE(Answers(kFirst));
}

TEST_F(PciBus, ABarMovesWhileDisabled) {
  guest_.SetConfig(1, kBar0, 4, kElsewhere);
  EXPECT_FALSE(Answers(kElsewhere));
  Enable(1, true);
  EXPECT_TRUE(Answers(kElsewhere));
  EXPECT_FALSE(Answers(kFirst));
}

TEST_F(PciBus, ABarMovesWhileEnabledByteByByte) {
  Enable(1, true);
  for (uint32_t i = 0; i < 4; ++i) guest_.SetConfig(1, kBar0 + i, 1, kElsewhere >> (8 * i) & 0xff);
  EXPECT_TRUE(Answers(kElsewhere));
  EXPECT_FALSE(Answers(kFirst));
}

TEST_F(PciBus, A64BitBarMovesAbove4Gib) {
  Enable(2, true);
  guest_.SetConfig(2, kBar0 + 4, 4, GuestPci::kHighWindow >> 32);
  guest_.SetConfig(2, kBar0, 4, 0x10000);
  EXPECT_TRUE(Answers(GuestPci::kHighWindow + 0x10000));
  EXPECT_FALSE(Answers(kSecond));
}

struct BadPlace {
  const char* name;
  uint64_t address;
};
class PciBusBadPlace : public PciBus, public testing::WithParamInterface<BadPlace> {};

// The register keeps what was written, nothing decodes there, and the way back works.
TEST_P(PciBusBadPlace, IsRefusedAndHarmsNobody) {
  Enable(1, true);
  Enable(2, true);
  const uint64_t before = guest_.Load(GetParam().address + 4, 4);
  guest_.SetConfig(1, kBar0, 4, GetParam().address);
  EXPECT_EQ(guest_.Config(1, kBar0, 4), GetParam().address);
  EXPECT_EQ(guest_.Load(GetParam().address + 4, 4), before);
  EXPECT_FALSE(Answers(kFirst));
  EXPECT_TRUE(Answers(kSecond));
  guest_.SetConfig(1, kBar0, 4, kFirst);
  EXPECT_TRUE(Answers(kFirst));
}

INSTANTIATE_TEST_SUITE_P(
    , PciBusBadPlace,
    testing::Values(BadPlace{"Zero", 0}, BadPlace{"BelowTheWindow", GuestPci::kWindow - kBarBytes},
                    BadPlace{"BehindTheWindow", GuestPci::kWindow + GuestPci::kWindowBytes},
                    BadPlace{"OnEcam", GuestPci::kEcam}, BadPlace{"OnLocalApic", 0xfee00000},
                    BadPlace{"LastPages", 0xffffc000},
                    BadPlace{"OnAnotherBar", GuestPci::kWindow + kBarBytes}),
    [](const auto& row) { return std::string(row.param.name); });

TEST_F(PciBus, BarsSwapPlacesOnceDecodingGoesOffAndOn) {
  Enable(1, true);
  Enable(2, true);
  guest_.SetConfig(1, kBar0, 4, kSecond);  // taken
  guest_.SetConfig(2, kBar0, 4, kFirst);
  EXPECT_TRUE(Answers(kFirst));
  Enable(1, false);
  Enable(1, true);
  EXPECT_TRUE(Answers(kSecond));
}

TEST_F(PciBus, ResetBringsAddressesBackAndDecodingOff) {
  guest_.SetConfig(1, kBar0, 4, kElsewhere);
  guest_.SetConfig(1, kInterruptLine, 1, 3);
  Enable(1, true);
  guest_.root().Reset();
  EXPECT_FALSE(Answers(kElsewhere));
  EXPECT_EQ(guest_.Config(1, kCommand, 2), 0u);
  EXPECT_EQ(guest_.Config(1, kBar0, 4), kFirst);
  EXPECT_EQ(guest_.Config(1, kInterruptLine, 1), GuestPci::kFirstLineNumber + 1u);
}

TEST_F(PciBus, Takes31DevicesAndSaysWhenItIsFull) {
  for (int i = 3; i <= 31; ++i) ASSERT_TRUE(guest_.root().Add(Make(BarKind::kMemory32)).ok());
  const auto full = guest_.root().Add(Make(BarKind::kMemory32));
  ASSERT_FALSE(full.ok());
  EXPECT_EQ(full.error().code(), ErrorCode::kNoSpace);
  EXPECT_NE(full.error().message().find("31"), std::string::npos);
  EXPECT_EQ(guest_.Config(31, kVendorId, 4), 0x56781234u);
}

TEST(PciBusWindow, AFullWindowFailsTheAddAndLeavesTheSlotFree) {
  GuestPci guest(3 * kBarBytes - 1);
  ASSERT_TRUE(guest.root().Add(Make(BarKind::kMemory32)).ok());
  ASSERT_TRUE(guest.root().Add(Make(BarKind::kMemory32)).ok());
  EXPECT_EQ(guest.root().Add(Make(BarKind::kMemory32)).error().code(), ErrorCode::kOutOfRange);
  EXPECT_EQ(guest.Config(3, kVendorId, 2), 0xffffu);
}

TEST(PciBusWindow, AFailedMakerGivesItsAddressesBack) {
  GuestPci guest(kBarBytes);
  const auto failed = guest.root().Add([](const Slot& slot) -> Result<std::unique_ptr<Function>> {
    TRY(slot.allocate_mmio(kBarBytes));
    return Unsupported("no");
  });
  EXPECT_EQ(failed.error().code(), ErrorCode::kUnsupported);
  EXPECT_TRUE(guest.root().Add(Make(BarKind::kMemory32)).ok());
}

TEST(SharedLine, StaysUpUntilTheLastPinIsDown) {
  FakeIrqLine wire;
  SharedLine line(wire);
  auto first = line.MakePin();
  auto second = line.MakePin();
  first->Raise();
  first->Raise();
  second->Raise();
  EXPECT_EQ(wire.rises(), 1);
  first->Lower();
  first->Lower();
  EXPECT_TRUE(wire.high());
  second.reset();
  EXPECT_FALSE(wire.high());
}

// Anything at all, written anywhere: no crash, and after a reset all is as it was.
TEST_F(PciBus, SurvivesNonsense) {
  std::mt19937 random(20);
  constexpr std::array<size_t, 4> kSizes = {1, 2, 4, 8};
  for (int i = 0; i < 200000; ++i) {
    const uint64_t at = GuestPci::kEcam + random() % (4 << 15);
    const size_t size = kSizes[random() % kSizes.size()];
    const uint64_t value = random() % 3 == 0 ? GuestPci::kWindow + random() % 0x10000 : random();
    if (random() % 2 == 0) {
      guest_.Store(at, size, value);
    } else {
      guest_.Load(at, size);
    }
    guest_.Out(static_cast<uint16_t>(0xcf8 + random() % 8), size, random() | 0x80000000);
    guest_.In(static_cast<uint16_t>(0xcf8 + random() % 8), size);
  }
  guest_.root().Reset();
  Enable(1, true);
  Enable(2, true);
  EXPECT_TRUE(Answers(kFirst));
  EXPECT_TRUE(Answers(kSecond));
}

// The way of Linux's reboot=pci: the full-reset bits first, then RST_CPU.
TEST(ResetControl, RisingResetBitResetsOnceAndConfigAccessesDoNot) {
  GuestPci guest;
  guest.Out(0xcf9, 1, 0x02);
  guest.PortConfig(0, 0, 4);
  guest.Out(0xcf8, 4, 0x80000600);  // covers 0xcf9 as part of a dword
  EXPECT_EQ(guest.resets(), 0);
  guest.Out(0xcf9, 1, 0x06);
  EXPECT_EQ(guest.resets(), 1);
  EXPECT_EQ(guest.In(0xcf9, 1), 0x06u);
  guest.Out(0xcf9, 1, 0x0e);
  EXPECT_EQ(guest.resets(), 1);
}

}  // namespace
}  // namespace skiff::pci
