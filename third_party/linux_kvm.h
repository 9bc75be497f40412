#pragma once

// <linux/kvm.h> for C++. Include this one, never the system's header.
//
// The kernel's headers up to 6.1 (Debian 12) declare flexible arrays through a macro with an
// empty struct in it. An empty struct takes no room in C but a byte in C++, so that kvm_cpuid2,
// kvm_msrs, kvm_irq_routing and others get another layout and their ioctls other numbers: the
// kernel answers EINVAL, or worse. The macro is made right before it is used.
#include <linux/stddef.h>
#undef __DECLARE_FLEX_ARRAY
#define __DECLARE_FLEX_ARRAY(type, name) type name[0]
#include <linux/kvm.h>

static_assert(sizeof(kvm_cpuid2) == 8 && sizeof(kvm_msrs) == 8 && sizeof(kvm_msr_list) == 4 &&
                  sizeof(kvm_irq_routing) == 8 && sizeof(kvm_signal_mask) == 4,
              "<linux/kvm.h> was included before this header");
