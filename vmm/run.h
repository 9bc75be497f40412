#pragma once

#include "vmm/config.h"
#include "vmm/outcome.h"

namespace skiff {

// Builds the machine that `config` describes, runs it until it ends (again after each reboot
// where the config says so) and gives the terminal back. Writes nothing about the outcome.
// Call it once, from the main thread, before other threads exist.
Outcome RunGuest(const Config& config);

}  // namespace skiff
