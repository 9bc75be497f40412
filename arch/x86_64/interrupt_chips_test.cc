#include "arch/x86_64/interrupt_chips.h"

#include <gtest/gtest.h>

#include <map>

#include "arch/x86_64/layout.h"

namespace skiff::x86_64 {
namespace {

TEST(InterruptChipRoutes, ReachEachPinOfTheIoApicAtMostOnce) {
  std::map<uint32_t, uint32_t> gsi_of_pin;
  for (const auto& route : InterruptChipRoutes()) {
    ASSERT_EQ(route.type, static_cast<uint32_t>(KVM_IRQ_ROUTING_IRQCHIP));
    if (route.u.irqchip.irqchip != KVM_IRQCHIP_IOAPIC) continue;
    EXPECT_TRUE(gsi_of_pin.emplace(route.u.irqchip.pin, route.gsi).second);
    EXPECT_LT(route.u.irqchip.pin, kIoApicPins);
  }
  EXPECT_EQ(gsi_of_pin[2], 0u);  // the timer, as the MADT's override says
  EXPECT_EQ(gsi_of_pin[kCom1Gsi], kCom1Gsi);
  for (uint32_t line = 0; line < kPciIntxLines; ++line)
    EXPECT_EQ(gsi_of_pin[kPciIntxFirstGsi + line], kPciIntxFirstGsi + line);
}

TEST(InterruptChipRoutes, ReachBothPicsExceptTheCascade) {
  std::map<uint32_t, uint32_t> gsi_of_irq;
  for (const auto& route : InterruptChipRoutes()) {
    if (route.u.irqchip.irqchip == KVM_IRQCHIP_IOAPIC) continue;
    EXPECT_LT(route.u.irqchip.pin, 8u);
    const uint32_t first = route.u.irqchip.irqchip == KVM_IRQCHIP_PIC_SLAVE ? 8 : 0;
    EXPECT_TRUE(gsi_of_irq.emplace(first + route.u.irqchip.pin, route.gsi).second);
  }
  EXPECT_EQ(gsi_of_irq.size(), 15u);
  EXPECT_FALSE(gsi_of_irq.contains(2));
  for (const auto& [irq, gsi] : gsi_of_irq) EXPECT_EQ(irq, gsi);
}

}  // namespace
}  // namespace skiff::x86_64
