#include "tests/bench/monitors.h"

namespace skiff::bench {
namespace {

using Words = std::vector<std::string>;

Words Joined(Words first, const Words& second) {
  first.insert(first.end(), second.begin(), second.end());
  return first;
}

Words SkiffCommand(const std::string& skiff, const GuestFiles& files) {
  return {skiff,      "run",
          "--kernel", files.kernel,
          "--initrd", files.initrd,
          "--memory", "512M",
          "--cpus",   "1",
          "--disk",   files.disk + ",format=raw",
          "--append", std::string("quiet -- ") + kGuestScript};
}

// A comma in a value is written twice for QEMU.
std::string Escaped(const std::string& path) {
  std::string escaped;
  for (const char c : path) escaped += c == ',' ? std::string(",,") : std::string(1, c);
  return escaped;
}

// `-nographic` would make the firmware print on the serial port, thousands of exits.
Words QemuCommand(const std::string& qemu, const GuestFiles& files, const Words& machine) {
  return Joined({qemu,
                 "-accel",
                 "kvm",
                 "-cpu",
                 "host",
                 "-smp",
                 "1",
                 "-m",
                 "512M",
                 "-nodefaults",
                 "-no-user-config",
                 "-display",
                 "none",
                 "-serial",
                 "stdio",
                 "-no-reboot",
                 "-kernel",
                 files.kernel,
                 "-initrd",
                 files.initrd,
                 "-append",
                 std::string(kKernelLine) + " -- " + kGuestScript,
                 "-drive",
                 "if=none,id=disk,format=raw,file=" + Escaped(files.disk)},
                machine);
}

// The options with the fewest exits that boot these kernels, by trial: QEMU's manual switches off
// option ROMs, PIT and PIC; the clock chip is on, since a kernel that looks for it in vain takes
// half a minute; a second IOAPIC is not needed for two devices, whose drivers find them by ACPI.
const Words kMicrovm = {
    "-machine", "microvm,x-option-roms=off,pit=off,pic=off,isa-serial=on,rtc=on,ioapic2=off",
    "-device",  "virtio-blk-device,drive=disk",
    "-device",  "virtio-rng-device"};

const Words kQ35 = {"-machine", "q35",           "-device", "virtio-blk-pci,drive=disk",
                    "-device",  "virtio-rng-pci"};

}  // namespace

std::vector<Monitor> Monitors(const std::string& skiff, const std::string& qemu,
                              const GuestFiles& files) {
  return {{"skiff", SkiffCommand(skiff, files)},
          {"microvm", QemuCommand(qemu, files, kMicrovm)},
          {"q35", QemuCommand(qemu, files, kQ35)}};
}

}  // namespace skiff::bench
