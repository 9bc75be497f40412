# The lab's machine for x86-64 guests; sourced by tests/lab/run and tests/lab/prepare.
# QEMU's software processor emulates AMD's SVM with nested paging, so the machine's kernel has a
# real KVM. Another CPU's file has the same names.

lab_qemu=qemu-system-x86_64
# microvm is no alternative: its clock cannot be calibrated in time and the boot hangs.
lab_machine=(-machine q35 -cpu max -accel "tcg,thread=multi")

# The cloud flavours have no 9p, which carries the host's tree.
lab_kernel_flavour=6.1-amd64
# Entered by PVH: the bzImage would spend a third of the boot unpacking itself.
lab_kernel_file=vmlinux
# tsc=reliable: under load the kernel's watchdog takes the emulated TSC for broken, and then
# guests get no master clock. panic=-1: reboot at once, which ends QEMU (-no-reboot).
# A processor that hangs ends the machine with a reason after a minute, instead of the command's time
# running out. loglevel=5 shows where it hung.
lab_kernel_line="console=ttyS0 quiet loglevel=5 panic=-1 mitigations=off tsc=reliable"
lab_kernel_line+=" watchdog_thresh=30 softlockup_panic=1"

lab_modules=(
  virtio_pci virtio_console # the streams and the status
  9pnet_virtio 9p overlay   # the tree
  kvm_amd                   # what all this is for
  virtio_rng
  tun loop                  # for network and image tests
  '?vhost_net'
)
