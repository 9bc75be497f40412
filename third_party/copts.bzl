"""Compiler flags of our own packages (never applied to third-party code)."""

SKIFF_WARNINGS = [
    "-Wall",
    "-Wextra",
    "-Wshadow",
    "-Wconversion",
    "-Werror",
]

# base, disk, devices, arch, vmm: failures are values (base/result.h).
SKIFF_COPTS = SKIFF_WARNINGS + ["-fno-exceptions"]

# For the few targets whose libraries throw (CLI11): exceptions stay inside that file.
SKIFF_COPTS_WITH_EXCEPTIONS = SKIFF_WARNINGS
